"""Linear finite elements on simplices: triangles of a mesh, or those that sampled points span.

Simplices have the nodes *corners*, shape (s, m + 1), at *places*, shape (s, m + 1, d).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from .matrices import from_entries, symmetric


def volumes(places: FloatArray) -> FloatArray:
    """Volumes of simplices."""
    return np.asarray(np.sqrt(np.maximum(np.linalg.det(_gram(places)), 0)) / math.factorial(places.shape[1] - 1))


def squared_edges(places: FloatArray) -> FloatArray:
    """Mean squared edge length of each simplex."""
    offsets = places - places.mean(axis=1, keepdims=True)
    return np.asarray(2 * np.einsum("sij,sij->s", offsets, offsets) / (places.shape[1] - 1))


def angles(places: FloatArray) -> FloatArray:
    """The angles at the corners of each triangle, shape (s, 3); ones, shape (s, 2), at the ends of segments."""
    if places.shape[1] == 2:
        return np.ones(places.shape[:2])
    arms = [np.roll(places, -k, axis=1) - places for k in (1, 2)]
    ahead, behind = (arm / np.linalg.norm(arm, axis=2, keepdims=True) for arm in arms)
    return np.asarray(np.arccos(np.clip(np.einsum("sij,sij->si", ahead, behind), -1, 1)))


def stiffness(corners: NDArray[Any], places: FloatArray, volume: FloatArray, size: int) -> Any:
    """L with phi' L phi the integral of |grad phi|^2 over simplices that count as *volume*."""
    count = corners.shape[1]
    slopes = np.concatenate([-np.ones((1, count - 1)), np.eye(count - 1)])  # of the hats, along the edges from corner 0
    energies = np.einsum("ai,sij,bj->sab", slopes, np.linalg.inv(_gram(places)), slopes)
    return symmetric(assembled(corners, volume[:, None, None] * energies, size))


def masses(corners: NDArray[Any], volume: FloatArray, size: int) -> tuple[FloatArray, Any]:
    """The volume M at each node, and the coupling (C - M) / 2 with C the integrals of products of hat functions.

    phi' (M - C) phi = sum over simplices of volume / ((m + 1) (m + 2)) * sum over its edges of (phi_i - phi_j)^2.
    """
    count = corners.shape[1]
    mass = np.bincount(corners.ravel(), np.repeat(volume / count, count), minlength=size).astype(np.float64)
    joint = (1 - count * np.eye(count)) / (2 * count * (count + 1))
    return mass, symmetric(assembled(corners, volume[:, None, None] * joint, size))


def assembled(corners: NDArray[Any], blocks: FloatArray, size: int) -> Any:
    """Sparse CSR matrix of *size* nodes, the sum of *blocks* (s, m + 1, m + 1) at the nodes of each simplex."""
    count = corners.shape[1]
    rows, columns = np.repeat(corners, count, axis=1).ravel(), np.tile(corners, (1, count)).ravel()
    return from_entries(rows, columns, blocks.ravel(), (size, size))


def _gram(places: FloatArray) -> FloatArray:
    edges = places[:, 1:] - places[:, :1]
    return np.asarray(np.einsum("sij,skj->sik", edges, edges))
