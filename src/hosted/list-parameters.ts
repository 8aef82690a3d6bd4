/* The query parameters of all lists. */

export const STATUS_FILTER = 'filter[status]'
export const PERIOD_FILTER = 'filter[createdAt][period]'
export const FROM_FILTER = 'filter[createdAt][from]'
export const TO_FILTER = 'filter[createdAt][to]'
export const PAGE_SIZE = 'page[size]'
export const PAGE_AFTER = 'page[after]'
export const PAGE_BEFORE = 'page[before]'

/* Those of the list of runs. */

export const TASK_FILTER = 'filter[taskIdentifier]'
export const ROOT_FILTER = 'filter[root]'
export const RUN_TAG_FILTER = 'filter[tag]'

/* Those of the list of tokens. */

export const TOKEN_TAG_FILTER = 'filter[tags]'
export const KEY_FILTER = 'filter[idempotencyKey]'
