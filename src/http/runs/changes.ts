import type { RunChange, RunRecord } from '../../contract/records.ts'
import {
  type Inside,
  metadataOf,
  type ReplacedMetadata,
  type SeenAttempt,
  type Turns,
} from '../../core/inside.ts'
import { isFinal } from '../../contract/run-states.ts'
import { boundJson } from '../requests/bounded-parts.ts'
import type { Limits } from '../limits.ts'
import type { MetadataChange } from './metadata-change.ts'
import { Refusal } from '../refusal.ts'

export interface RunChangesOptions {
  readonly inside: Inside
  readonly limits: Pick<Limits, 'tags' | 'metadataBytes'>
  readonly turns: Turns
}

/**
 * Changes runs from outside, one change at a time for each run. An executing attempt keeps the metadata in memory, so
 * during an attempt only its own engine can change them.
 */
export class RunChanges {
  readonly #inside: Inside
  readonly #limits: Pick<Limits, 'tags' | 'metadataBytes'>
  readonly #turns: Turns
  readonly #seed: number

  constructor({ inside, limits, turns }: RunChangesOptions) {
    this.#inside = inside
    this.#limits = limits
    this.#turns = turns
    this.#seed = Buffer.from(inside.host.random.bytes(4)).readInt32LE()
  }

  /**
   * Changes the metadata and returns the text of the new value.
   *
   * @throws Refusal 404; 422 for a run that has ended; 409 for a run that another engine executes; 413 if the metadata
   * become too large.
   */
  metadata(id: string, change: MetadataChange): Promise<string> {
    return this.#inside.runs.inTurn(id, async () => {
      for (;;) {
        // Each look at a large document takes long, as does the request that was read before.
        await this.#turns.next()
        const attempt = this.#inside.runs.attempt(id)
        if (attempt?.isEnded === false) {
          const changed = await this.#changeInAttempt(attempt, change)
          if (changed !== undefined) return changed
          continue
        }
        const record = await this.#require(id)
        if (record.status !== 'QUEUED' && record.status !== 'DELAYED') throw executedElsewhere(id)
        const before = metadataOf(record)
        await this.#turns.next()
        const { json } = await this.#checked(change(before, this.#seed))
        if (await this.#update(record, { metadataJson: json })) return json
      }
    })
  }

  /** Adds tags and returns the number of new ones. */
  async tags(id: string, added: string | readonly string[]): Promise<number> {
    return (await this.#inside.runs.addTags(id, { added, most: this.#limits.tags })).count
  }

  /**
   * Changes the metadata as the task itself would: if the task has changed them since they were read, all is done anew, in one
   * turn, so that no change of either is lost. `undefined`: the attempt has ended meanwhile.
   */
  async #changeInAttempt(attempt: SeenAttempt, change: MetadataChange): Promise<string | undefined> {
    const { runs } = this.#inside
    const seen = runs.metadata(attempt)
    await this.#turns.next()
    const { changes } = seen
    let changed = await this.#checked(change(seen.values, this.#seed))
    if (attempt.isEnded) return undefined
    const isStored = await runs.replaceMetadata(attempt, () => {
      if (seen.changes !== changes) changed = this.#bounded(replaced(change(seen.values, this.#seed)))
      return changed
    })
    if (isStored) return changed.json
    throw new Refusal(
      409,
      `Cannot change the metadata of run "${attempt.id}": its attempt was ended meanwhile`,
    )
  }

  /** New metadata, with their text, whose size and parts are checked before anything changes: each in a piece of its own. */
  async #checked(values: Map<string, unknown>): Promise<ReplacedMetadata> {
    await this.#turns.next()
    const metadata = replaced(values)
    await this.#turns.next()
    return this.#bounded(metadata)
  }

  #bounded(metadata: ReplacedMetadata): ReplacedMetadata {
    const { metadataBytes } = this.#limits
    boundJson(metadata.json)
    if (Buffer.byteLength(metadata.json) <= metadataBytes) return metadata
    throw new Refusal(413, `Metadata too large: at most ${metadataBytes} bytes are allowed`)
  }

  async #require(id: string): Promise<RunRecord> {
    const record = await this.#inside.host.storage.runs.get(id)
    if (record === undefined) throw new Refusal(404, 'Run not found')
    if (!isFinal(record.status)) return record
    throw new Refusal(422, `Cannot change the metadata of run "${id}": it is already ${record.status}`)
  }

  /** Returns false if the run has changed in the meantime. */
  async #update({ id, status, epoch }: RunRecord, change: RunChange): Promise<boolean> {
    const { host, news } = this.#inside
    const expected = { status: [status], epoch }
    const updated = await host.storage.runs.update({ id, expected, change, by: host.owner, now: host.now() })
    if (updated !== undefined) news.runChanged(id)
    return updated !== undefined
  }
}

/** Only JSON is among the values: they were checked one by one. */
function replaced(values: Map<string, unknown>): ReplacedMetadata {
  return { values, json: JSON.stringify(Object.fromEntries(values)) }
}

function executedElsewhere(id: string): Refusal {
  return new Refusal(
    409,
    `Cannot change the metadata of run "${id}": another engine executes it or has claimed it; send the change to that engine`,
  )
}
