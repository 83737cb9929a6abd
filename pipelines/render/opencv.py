"""OpenCV on one thread: a worker is a process, and its CPU seconds are what they seem. Results do not depend on it."""

import cv2

cv2.setNumThreads(1)

__all__ = ["cv2"]
