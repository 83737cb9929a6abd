"""A structured state-space layer, S4 with a diagonal plus low-rank state (Gu et al. 2021, arXiv 2111.00396).

The names and shapes are those of CPC's checkpoint; complex numbers are stored as (..., 2), real and imaginary part.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from models.encoders.card import EncoderError

STATE = 8
"""States of a channel; they are four conjugated pairs, of which one half is stored."""
GRID = 1200
"""Taps of the kernel that its frequencies stand for, whatever the input's length is."""


def legs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """HiPPO-LegS with `STATE` states as poles w, input B and low rank P, each complex (STATE / 2,), Q being P*.

    LegS plus its low rank is -1/2 and a skew part, whose eigenvectors turn it into diag(w) - P P^H (theorem 1 of the
    paper). An eigenvector's phase is open: it is chosen so that P is real and positive. Another one would change C
    and no kernel.
    """
    n = np.arange(STATE)
    root, low_rank = np.sqrt(2 * n + 1), np.sqrt(n + 0.5)
    state = -np.tril(np.outer(root, root), -1) - np.diag(n + 1.0)
    skew = state + np.outer(low_rank, low_rank) + np.eye(STATE) / 2
    turns, vectors = np.linalg.eigh(-1j * skew)
    first = np.argsort(-turns)[: STATE // 2]
    vectors = vectors[:, first]
    along = vectors.conj().T @ low_rank
    vectors = vectors * (along / np.abs(along))
    return -0.5 + 1j * turns[first], vectors.conj().T @ root, vectors.conj().T @ low_rank


def frequencies() -> tuple[np.ndarray, np.ndarray]:
    """omega = exp(-2 pi i f / GRID) and z = 2 (1 - omega) / (1 + omega), complex (GRID / 2 + 1,).

    At the last f omega is -1 and z infinite, and rounding decides what comes of it. Here omega is -1 + 2^-20, for
    which single precision holds 1 + omega and z exactly; a pole w then errs by |w| dt 2^-22 of itself. A checkpoint
    brings numbers of its own, which are used as they are.
    """
    omega = np.exp(-2j * np.pi * np.arange(GRID // 2 + 1) / GRID)
    omega[-1] = -1 + 2.0**-20
    return omega, 2 * (1 - omega) / (1 + omega)


def taps(
    c: torch.Tensor,
    b: torch.Tensor,
    p: torch.Tensor,
    q: torch.Tensor,
    w: torch.Tensor,
    log_dt: torch.Tensor,
    omega: torch.Tensor,
    z: torch.Tensor,
) -> torch.Tensor:
    """The kernel (H, GRID) of the bilinear discretisation, by its generating function on the unit circle.

    ``c``, ``b``, ``p``, ``q``, ``w``: complex (H, STATE / 2), of each conjugated pair the first; ``log_dt``: (H,), the
    logarithm of the step; ``omega``, ``z``: complex (GRID / 2 + 1,). ``c`` is the stored one, which already has the
    factor I - A^GRID. The state is diag([w, w*]) - [p, p*] [q, q*]^T.
    """
    step = log_dt.exp()[:, None]
    poles = w * step
    pairs = torch.stack((b * c, b * q, p * c, p * q), 1) * step[:, None]
    weights = torch.cat((pairs, pairs.conj()), -1)
    cauchy = 1 / (z - torch.cat((poles, poles.conj()), -1)[..., None])
    bc, bq, pc, pq = (weights @ cauchy).unbind(1)
    return torch.fft.irfft((bc - bq * pc / (1 + pq)) * (2 / (1 + omega)), n=GRID)


def _stored(value: np.ndarray) -> torch.Tensor:
    return torch.view_as_real(torch.from_numpy(np.ascontiguousarray(value, dtype=np.complex64)))


class _Kernel(nn.Module):
    """The kernel's own numbers. Only ``C`` is learned; the others are what the checkpoint says.

    They stay in single precision when the rest goes to half: frequencies near the last one would be lost.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        half = STATE // 2
        self.C = nn.Parameter(torch.randn(1, channels, half, 2) * 0.5**0.5)
        w, b, p = legs()
        omega, z = (_stored(each) for each in frequencies())
        low, high = math.log(1e-3), math.log(1e-1)
        self.register_buffer("log_dt", low + (high - low) * torch.rand(channels))
        for name, value in (("B", b[None]), ("P", p[None]), ("Q", p.conj()[None]), ("w", w)):
            alike = np.repeat(value[..., None, :], channels, axis=-2)
            self.register_buffer(name, _stored(alike))
        self.register_buffer("omega", omega)
        self.register_buffer("z", z)
        self._known: tuple[tuple[torch.Tensor, ...], dict[int, torch.Tensor]] | None = None

    def forward(self, length: int) -> torch.Tensor:
        """The spectrum (H, length + 1) of the first ``length`` taps, padded with as many zeros.

        Where no gradient is wanted it is kept and given again, as long as every number is what it was: values are
        compared and not versions, so that no way of changing a weight is missed.
        """
        if length > GRID:
            raise EncoderError(f"found {length} steps; the kernel has {GRID}")
        numbers = (self.C, self.B, self.P, self.Q, self.w, self.log_dt, self.omega, self.z)
        if torch.is_grad_enabled() and any(each.requires_grad for each in numbers):
            return self._spectrum(numbers, length)
        if self._known is None or not all(map(_same, self._known[0], numbers)):
            with torch.inference_mode(False):
                self._known = tuple(each.detach().clone() for each in numbers), {}
        before, spectra = self._known
        if length not in spectra:
            with torch.inference_mode(False), torch.no_grad():
                spectra[length] = self._spectrum(before, length)
        return spectra[length]

    @staticmethod
    def _spectrum(numbers: tuple[torch.Tensor, ...], length: int) -> torch.Tensor:
        c, b, p, q, w, log_dt, omega, z = (
            torch.view_as_complex(each.contiguous()) if each.ndim > 1 else each for each in numbers
        )
        kernel = taps(c[0], b[0], p[0], q[0], w, log_dt, omega, z)
        return torch.fft.rfft(kernel[:, :length], n=2 * length)

    def train(self, mode: bool = True) -> _Kernel:
        if mode:
            self._known = None
        return super().train(mode)

    def _apply(self, fn, recurse: bool = True) -> _Kernel:
        self._known = None

        def kept(tensor: torch.Tensor) -> torch.Tensor:
            made = fn(tensor)
            return made if made.dtype in (torch.float32, torch.float64) else tensor.to(made.device)

        return super()._apply(kept, recurse)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.device == other.device and one.dtype == other.dtype and torch.equal(one, other)


class _Mix(nn.Module):
    """(B, inputs, L) → (B, outputs, L): a linear map of the channels, with a bias (outputs, 1)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        made = nn.Linear(inputs, outputs)
        self.weight = nn.Parameter(made.weight.detach().clone())
        self.bias = nn.Parameter(made.bias.detach()[:, None].clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.conv1d(x, self.weight[..., None], self.bias[:, 0])


class S4(nn.Module):
    """(B, H, L) → (B, H, L), causal; L up to `GRID`.

    A convolution with the kernel plus ``D`` times the input, exact GELU, a linear map to twice the channels and the
    gate that halves them (GLU). The convolution is in single precision or better.
    """

    def __init__(self, channels: int = 512) -> None:
        super().__init__()
        self.D = nn.Parameter(torch.randn(1, channels))
        self.kernel = nn.ModuleDict({"kernel": _Kernel(channels)})
        self.output_linear = nn.Sequential(_Mix(channels, 2 * channels), nn.GLU(dim=1))

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        length = u.shape[-1]
        kernel = self.kernel["kernel"](length)
        exact = u.to(kernel.real.dtype)
        y = torch.fft.irfft(torch.fft.rfft(exact, n=2 * length) * kernel, n=2 * length)[..., :length]
        return self.output_linear(functional.gelu(y + self.D[0, :, None] * exact).to(u.dtype))
