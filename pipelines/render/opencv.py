"""OpenCV on one thread: a worker is a process, and its CPU seconds are what they seem. Results do not depend on it."""

from warehouse.errors import LeadhouseError

try:
    import cv2
except ImportError as error:
    raise LeadhouseError(
        f"OpenCV cannot be imported ({error}); expected the headless one",
        "pip install --force-reinstall --no-deps opencv-python-headless (opencv-python lies in the same folder, "
        "and needs libGL)",
    ) from error

cv2.setNumThreads(1)

__all__ = ["cv2"]
