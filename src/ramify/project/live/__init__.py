"""A project that people answer: questions, answers, and a model that learns meanwhile."""
