"""Several servers of one project, on either database: each takes up what people answer at the others."""

from ramify.project.live.service import Service
from ramify.project.store.store import Store
from test_service import make, true_answers, until


def test_two_servers_share_a_project(tmp_path, address):
    folder = make(tmp_path / "project", warm=12, train=True)
    if address is not None:
        Store.move(folder, address)
    with Service(folder) as one, Service(folder) as other, Store(folder) as store:
        asked = []
        for turn in range(8):
            for service, name in ((one, "ann"), (other, "bob")):
                (task,) = service.next(name)
                asked += [(task.item.item, entry.concept) for entry in task.entries]
                service.answer(f"{name} {turn}", name, true_answers(service, task))
        assert len(asked) == len(set(asked))
        until(lambda: one.state.labels == other.state.labels == store.labels())
        learned = {item for item, _ in asked}
        for service in (one, other):
            until(lambda service=service: learned <= set(service.state.model.learner.learned_items().tolist()))
        one.undo("back", "ann")
        until(lambda: other.state.labels == one.state.labels)
        until(lambda: one.status().unknown == other.status().unknown == len(store.labels().unknown()[0]))


def test_what_is_answered_in_a_table_is_taken_up_by_a_server(tmp_path):
    folder = make(tmp_path / "project", warm=12, train=True)
    with Service(folder) as service, Store(folder) as store:
        (task,) = service.next("ann")
        store.record("from a table", "cid", true_answers(service, task))
        item, concept, _ = true_answers(service, task)[0]
        number = store.number_of[concept]
        until(lambda: service.state.labels.states(item, number)[0, 0] != -1)
