/* What an answer to a reader of a shape says besides its rows. */

export const UP_TO_DATE = 'up-to-date'
/** The position of the reader is no longer kept: it begins anew. */
export const MUST_REFETCH = 'must-refetch'
/** The query parameter that older readers send their handle in. */
export const OLDER_HANDLE_PARAMETER = 'shape_id'
