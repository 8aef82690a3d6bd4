/** When the time of a test clock moves: by itself too, in calls of the test only, or not at all. */
export type ClockMode = 'auto' | 'manual' | 'frozen'
