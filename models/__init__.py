"""Torch modules: they take tensors and know no data set. The core install never imports this room."""
