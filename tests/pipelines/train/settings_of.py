"""Settings that train the toy pages in a second."""

from pipelines.train.settings import Settings

QUICK = Settings(weights="none", input_scale=0.5, epochs=8, batch=4, lr=0.05)
