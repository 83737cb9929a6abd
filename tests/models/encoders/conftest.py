"""For the tests of encoders and their checkpoints."""

import pytest

pytest.register_assert_rewrite("tests.models.encoders.probe")


@pytest.fixture(scope="module")
def one_thread():
    """Thousands of small tensors: threads that wait for each other take longer than the work."""
    torch = pytest.importorskip("torch", reason="needs the extra `train`")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
