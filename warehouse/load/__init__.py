"""One loader a data set: a raw release becomes ``data/raw/<dataset>/<table>/*.parquet`` and ``_load.json``."""
