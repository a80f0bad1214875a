"""Spaces made of nodes: meshes, point clouds and graphs, known by the eigenpairs of a matrix."""

from .graph import Graph
from .mesh import Mesh
from .pointcloud import PointCloud

__all__ = ["Graph", "Mesh", "PointCloud"]
