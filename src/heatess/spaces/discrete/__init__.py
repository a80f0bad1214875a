"""Spaces made of nodes: meshes, point clouds and graphs, known by the eigenpairs of a matrix."""

from .graph import Graph as Graph
from .mesh import Mesh as Mesh
from .pointcloud import PointCloud as PointCloud
