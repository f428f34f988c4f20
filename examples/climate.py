"""A climate field on a grid of latitudes and longitudes, coarsened by area.

Needs: cenote, NumPy and xarray
Run:   python examples/climate.py

The cells of such a grid shrink towards the poles, with the cosine of the latitude. A plain mean of neighbouring cells
counts them alike; here each counts by its area: the sum of field times area over each window, divided by the area of
the window. Cells without data, land here, count for nothing.
"""

from __future__ import annotations

import argparse

import numpy as np
import xarray as xr

import cenote as cn

WINDOW = {"lat": 15, "lon": 15}  # grid cells of 1° to grid cells of 15°


def sea_surface(months: int) -> xr.DataArray:
    """A temperature that falls towards the poles, follows the seasons, and is missing on a continent."""
    time = np.arange("2000-01", np.datetime64("2000-01") + months, dtype="M8[M]").astype("M8[s]")
    lat, lon = np.arange(-89.5, 90.0), np.arange(0.5, 360.0)
    season = np.cos(2 * np.pi * (np.arange(months) - 1) / 12)[:, None, None]
    field = 30 - 32 * np.sin(np.radians(lat))[:, None] ** 2 - 4 * season * np.sign(lat)[:, None]
    field = field + np.sin(np.radians(3 * lon))
    land = (np.abs(lat - 45)[:, None] < 18) & (np.abs(lon - 70) < 40)
    return xr.DataArray(
        np.where(land, np.nan, field),
        dims=("time", "lat", "lon"),
        coords={"time": time, "lat": ("lat", lat, {"units": "degrees_north"}), "lon": lon},
        name="sst",
        attrs={"units": "degC", "long_name": "sea surface temperature"},
    )


def coarsened_by_area(field: xr.DataArray, window: dict[str, int]) -> xr.DataArray:
    """The mean over the area of each window, of the grid cells that have data."""
    area = np.cos(np.radians(field.lat)).where(field.notnull(), 0.0).transpose(*field.dims)
    total = cn.sum_pool(field.fillna(0.0) * area, window)
    return (total / cn.sum_pool(area, window)).assign_attrs(field.attrs).rename(field.name)


def mean_over(field: xr.DataArray, area: xr.DataArray) -> xr.DataArray:
    return field.weighted(area.fillna(0.0)).mean(("lat", "lon"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=24, help="number of months")
    months = parser.parse_args().steps
    field = sea_surface(months)
    by_area, plain = coarsened_by_area(field, WINDOW), cn.avg_pool(field, WINDOW, nan="omit")
    print(f"{dict(field.sizes)} to {dict(by_area.sizes)}, latitudes {by_area.lat.values[:3]} …")

    # The coarse field has the mean of the fine one, if its grid cells count by the area that they stand for.
    area = np.cos(np.radians(field.lat)) * field.notnull()
    coarse_area = cn.sum_pool(area, WINDOW)
    fine = mean_over(field, area).mean()
    for name, coarse in (("by area", by_area), ("plain mean", plain)):
        error = mean_over(coarse, coarse_area).mean() - fine
        print(f"{name:10}: global mean {round(float(error), 4) + 0.0:+.4f} °C off")
    quarters = cn.avg_pool(by_area, {"time": min(3, months)}, coord_func="first")
    print(f"mean of each quarter from {np.datetime_as_string(quarters.time.values[0], 'D')} on: {dict(quarters.sizes)}")


if __name__ == "__main__":
    main()
