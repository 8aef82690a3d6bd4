import type { RunRecord, RunStatus } from '../../../contract/records.ts'
import type { Storage } from '../../../contract/storage.ts'
import { isSame, Mismatch } from '../sameness.ts'
import type { TestedStorage } from '../subject.ts'
import type { Command, CommandName } from './command.ts'

/** What a storage that is judged and the one it is compared with are called with alike. */
export type Call = (storage: Storage) => unknown

export interface StageOptions {
  readonly storage: TestedStorage
  readonly reference: Storage
  readonly origin: number
}

/** The statuses a command needs, where it does not need any attempt at all. */
const STATUSES: Readonly<Partial<Record<CommandName, readonly RunStatus[]>>> = {
  park: ['EXECUTING'],
  resume: ['WAITING'],
}
/** Instants are a multiple of it, and those at which runs become ready a little more, so that no two are the same. */
export const UNIT = 1_000
/** So many of the newest tokens are spoken of: the others are settled, mostly. */
const RECENT = 5

/** Two storages that are told the same, and what there is on them; the first one that answers differently ends it. */
export class Stage {
  /** The calls made so far, for people. */
  readonly story: string[] = []
  readonly storage: TestedStorage
  readonly reference: Storage
  readonly runIds: string[] = []
  readonly tokenIds: string[] = []
  now: number

  constructor({ storage, reference, origin }: StageOptions) {
    this.storage = storage
    this.reference = reference
    this.now = origin
  }

  /** Calls both. @throws Mismatch */
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

  /** A run at which an attempt goes on, as the command needs it; the others refuse, mostly. */
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
