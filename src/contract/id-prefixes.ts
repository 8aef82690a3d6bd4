/* How ids begin, by what they are of. */

export const RUN_ID_START = 'run_'
export const TOKEN_ID_START = 'waitpoint_'
