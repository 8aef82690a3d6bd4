/** The type of a value whose dates, maps and the like are noted beside its JSON. */
export const NOTED_JSON = 'application/super+json'
/** The type of a value that is kept elsewhere: in its place is the name to ask for it by. */
export const KEPT_ELSEWHERE = 'application/store'
