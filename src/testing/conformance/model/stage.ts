import type { RunRecord, RunStatus } from '../../../contract/records.ts'
import type { Storage } from '../../../contract/storage.ts'
import { isSame, Mismatch } from '../sameness.ts'
import type { Command, CommandName } from './command.ts'

/** A call made to both the tested storage and the reference storage. */
export type Call = (storage: Storage) => unknown

export interface StageOptions {
  readonly storage: Storage
  readonly reference: Storage
  readonly origin: number
}

/** The statuses that a command needs; commands that need no attempt are missing. */
const STATUSES: Readonly<Partial<Record<CommandName, readonly RunStatus[]>>> = {
  park: ['EXECUTING'],
  resume: ['WAITING'],
  goOn: ['PENDING_VERSION'],
}
/** Instants are multiples of this unit. Runs become ready slightly later, so that no two instants are equal. */
export const UNIT = 1_000
/** The number of newest tokens that commands refer to. Older ones are mostly settled. */
const RECENT = 5

/** Two storages that receive the same calls. The first difference between their answers ends the test. */
export class Stage {
  /** The calls so far, for messages. */
  readonly story: string[] = []
  readonly storage: Storage
  readonly reference: Storage
  readonly runIds: string[] = []
  readonly tokenIds: string[] = []
  now: number

  constructor({ storage, reference, origin }: StageOptions) {
    this.storage = storage
    this.reference = reference
    this.now = origin
  }

  /**
   * Makes a call to both storages.
   *
   * @throws Mismatch when the answers differ.
   */
  async both(what: string, call: Call): Promise<unknown> {
    this.story.push(what)
    const expected = await call(this.reference)
    const seen = await call(this.storage)
    if (!isSame(seen, expected, true)) throw new Mismatch(what, { expected, seen })
    return expected
  }

  async run(index: number): Promise<RunRecord | undefined> {
    const id = pick(this.runIds, index)
    return id === undefined ? undefined : this.reference.runs.get(id)
  }

  /** A run whose attempt fits the command, because most other attempts would be refused. */
  async attempted({ name, run }: Command): Promise<RunRecord | undefined> {
    if (run % 8 === 0) return undefined
    const status = STATUSES[name] ?? ['EXECUTING', 'WAITING']
    return pick((await this.reference.runs.list({ status }, { limit: 1_000 })).records, run)
  }

  /** One of the newest tokens. */
  recentToken(index: number): string | undefined {
    return pick(this.tokenIds.slice(-RECENT), index)
  }
}

export function pick<T>(items: readonly T[], index: number): T | undefined {
  return items[index % items.length]
}
