/** A run that can be claimed, or was. */
export interface ClaimableRun {
  readonly id: string
  readonly taskId: string
  readonly createdAt?: number
  /** So much ahead of others it stands in line. */
  readonly priorityMs?: number | undefined
}

/** Owners of a task that are known. Of more the one that is known longest is forgotten. */
const MOST_OWNERS = 64
const MOST_TASKS = 1_000
/** Runs whose claim is awaited. */
const MOST_RUNS = 1_000
/** One run in so many is told to all at once: so those are found that are not known yet. In large fleets it is one in two rounds. */
const ALL_EVERY = 8
const ROUNDS = 2

/**
 * Which owner is to claim a new run first. If all that hear of a run asked for it at once, all but one would ask in vain, and
 * the more the larger the fleet. Each owner that is seen to claim runs of a task is known for it, and they take turns. One that did
 * not come first is forgotten until it is seen again.
 */
export class FirstClaimers {
  readonly #owners = new Map<string, string[]>()
  readonly #called = new Map<string, string>()
  #calls = 0

  /** The owner that comes first for a new run; none if all are to come. `own`: one that claims it without being told. */
  callFor(run: ClaimableRun, own: string | null): string | undefined {
    const owners = this.#owners.get(run.taskId)
    this.#calls += 1
    if (owners === undefined || this.#calls % Math.max(ALL_EVERY, ROUNDS * owners.length) === 0)
      return undefined
    const first = own !== null && owners.includes(own) ? own : owners[this.#calls % owners.length]
    if (first !== undefined) put(this.#called, run.id, { value: first, most: MOST_RUNS })
    return first
  }

  /** `owner` has claimed a run. */
  claimed(run: ClaimableRun, owner: string): void {
    const first = this.#called.get(run.id)
    this.#called.delete(run.id)
    const before = this.#owners.get(run.taskId)
    const known = before?.filter((one) => one !== first || one === owner) ?? []
    if (!known.includes(owner)) known.push(owner)
    put(this.#owners, run.taskId, { value: known.slice(-MOST_OWNERS), most: MOST_TASKS })
  }
}

function put<Value>(
  map: Map<string, Value>,
  key: string,
  { value, most }: { readonly value: Value; readonly most: number },
): void {
  map.set(key, value)
  const [oldest] = map.size > most ? map.keys() : []
  if (oldest !== undefined) map.delete(oldest)
}
