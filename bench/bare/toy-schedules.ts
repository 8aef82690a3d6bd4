import { turn } from '../turn.ts'

/** As many boundaries as a schedule of an approval has. */
const BOUNDARIES = 12

/**
 * The minimum of an exploration: two strands of calls that wait for their turn, one released at random in every turn of
 * the event loop, and a check at the end. It has no storage, clock, invariants or replay.
 */
export async function toySchedule(fraction: () => number): Promise<void> {
  const pending: (() => void)[] = []
  const boundary = (): Promise<void> => new Promise((resolve) => void pending.push(resolve))
  let settled = 0
  let open = 2
  const strand = async (): Promise<void> => {
    for (let index = 0; index < BOUNDARIES / 2; index++) {
      await boundary()
      settled += 1
    }
    open -= 1
  }
  const strands = [strand(), strand()]
  while (open > 0) {
    const [release] = pending.splice(Math.floor(fraction() * pending.length), 1)
    release?.()
    await turn()
  }
  await Promise.all(strands)
  if (settled !== BOUNDARIES) throw new Error('Cannot end the schedule: a boundary is missing')
}
