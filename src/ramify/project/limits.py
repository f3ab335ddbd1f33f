"""The limits of a project, each in one place: what the store refuses is what the page and the API say."""

LONGEST_NAME = 100  # characters of an annotator's name
LONGEST_KEY = 200  # characters of a request's key
MOST_QUESTIONS = 50  # screens that one annotator may hold at once over HTTP
MOST_ANSWERS = 2000  # entries answered in one request over HTTP
LONGEST_PAGE = 200  # items or answers on one page of a list
GRID = 12  # items on one screen of the grid mode
MODES = {"group": 1, "single": 1, "grid": GRID}  # how questions are put together, and items on a screen
