"""Stages that read task views and write predictions, scores and reports."""
