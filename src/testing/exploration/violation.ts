/** The invariants of every schedule, with any body. See docs/exploring.md. */
export type Invariant =
  | 'single assignment'
  | 'tokens are linearizable'
  | 'no acknowledged completion lost'
  | 'every waiter released exactly once'
  | 'waiter and storage agree'
  | 'no delivery after cancel'
  | 'a run ends once its waits are answered'
  | 'attempts within policy'
  | 'a run has one attempt that writes'
  | 'readers see a contiguous run of chunks'
  | 'timers never early, never twice'
  | 'context preserved'
  | 'nothing left at dispose'
  | 'the body comes to an end'
  | 'no rejection is left unhandled'
  | 'the body holds'
  | 'what was to happen sometimes happens'
  | 'the same schedule twice is the same'
  | 'the replay applies'

/** An invariant does not hold. Thrown inside a schedule; the `cause` of an `ExplorationError`. */
export class InvariantViolation extends Error {
  readonly invariant: Invariant

  constructor(invariant: Invariant, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'InvariantViolation'
    this.invariant = invariant
  }
}
