import { isFarAway } from './abandon.ts'

const FEWEST = 10

/** How much of them is tried where every case takes a file, or is asked over a wire. */
function share(): number {
  if (isFarAway()) return 1 / 10
  return process.env['WAITPOINT_STORAGE'] === 'sqlite' ? 1 / 4 : 1
}

/** How many cases a property about engines tries that would try so many in memory: ten at least. */
export function cases(inMemory: number): number {
  return Math.min(inMemory, Math.max(FEWEST, Math.ceil(inMemory * share())))
}
