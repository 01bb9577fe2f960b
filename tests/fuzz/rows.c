/*
 * rows.c - checks invariants of the rows of a scan.
 */
#include "tests/fuzz/rows.h"

#include "tests/fuzz/input.h"

static void check_entry_points(const struct distribution_record *row)
{
	for (size_t i = 0; i < row->entry_point_count; i++) {
		const struct entry_point_record *e = &row->entry_points[i];

		require(!slice_is_null(e->group) && !slice_is_null(e->name) &&
		        !slice_is_null(e->value));
		require(slice_is_null(e->attr) || !slice_is_null(e->module));
		require(slice_is_null(e->extras) || e->extras.len > 0);
	}
}

void rows_check(const struct root_record *root)
{
	size_t broken = 0;

	for (size_t i = 0; i < root->distribution_count; i++) {
		const struct distribution_record *row = &root->distributions[i];

		require(i == 0 || root->distributions[i - 1].position < row->position);
		/* A row of files that not all users may read has neither a name nor an error. */
		require(!slice_is_null(row->error) || !slice_is_null(row->normalized_name) ||
		        (row->watched && row->directory_stamp == 0));
		require(slice_is_null(row->error) || row->entry_point_count == 0);
		broken += !slice_is_null(row->error);
		check_entry_points(row);
	}
	require(broken == root->broken);
}

void rows_check_same(const struct root_record *a, const struct root_record *b)
{
	require(a->distribution_count == b->distribution_count && a->broken == b->broken);
	for (size_t i = 0; i < a->distribution_count; i++)
		require(slice_equal(a->distributions[i].directory, b->distributions[i].directory) &&
		        a->distributions[i].entry_point_count ==
		                b->distributions[i].entry_point_count);
}
