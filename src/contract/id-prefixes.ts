/* How ids and names begin, by what they are of. */

export const RUN_ID_START = 'run_'
export const TOKEN_ID_START = 'waitpoint_'
/** Of the queue of a task without one of its own. */
export const TASK_QUEUE_START = 'task/'
/** Of the limit of a task that has no name of its own. */
export const TASK_LIMIT_START = 'limit/'
