import { isFarAway } from './abandon.ts'

const FEWEST = 10

/** How many cases a property tries that would try so many in memory: of what is asked over a wire a tenth, ten at least. */
export function cases(inMemory: number): number {
  return isFarAway() ? Math.min(inMemory, Math.max(FEWEST, Math.ceil(inMemory / 10))) : inMemory
}
