import { inNextTurn } from '../../src/clock/macrotask-turn.ts'

/** A turn is due with the second question of each: nothing depends on how fast this machine is. */
export function turnsByTheQuestion(): () => boolean {
  let isSameTurn = false
  return () => {
    if (isSameTurn) return true
    isSameTurn = true
    inNextTurn(() => (isSameTurn = false))
    return false
  }
}
