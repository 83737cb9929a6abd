"""Training and prediction: from a task view and its inputs to a folder with a model, and to a predictions table.

=================  =====================================================================================
`settings`         what a training depends on, and what was published
`inputs`           what a model reads, a row an instance: `images` makes it of rendered pages
`objective`        loss, thresholds and decisions, by the task's kind
`loop`             epochs, the choice on validation, the checkpoint after every epoch
`folder`           ``data/models/<run>/``: what a training leaves, and what is checked before it is used
`stage`            `train`, and `predict` in a file of its own
=================  =====================================================================================

Torch is imported inside the functions that need it: the rest of the house runs without the ``train`` extra.
"""
