import type { RunChange, RunRecord } from '../../contract/records.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Breath } from '../../core/host/breath.ts'
import type { Kernel } from '../../core/kernel.ts'
import { tagRun } from '../../core/namespaces/tag-run.ts'
import { hasFinished, type Attempt, runInAttempt } from '../../core/attempt/attempt.ts'
import { isFinal } from '../../contract/run-states.ts'
import { readMetadata } from '../../core/views/run.ts'
import { toJson } from '../../api/serialize.ts'
import { boundJson } from '../requests/bounded-parts.ts'
import type { JsonObject } from '../requests/json-body.ts'
import type { Limits } from '../limits.ts'
import type { MetadataChange } from './metadata-change.ts'
import { Refusal } from '../refusal.ts'

export interface RunChangesOptions {
  readonly kernel: Kernel
  readonly limits: Pick<Limits, 'tags' | 'metadataBytes'>
  readonly turns: Breath
}

/**
 * Changes runs from outside, one change at a time for each run. An executing attempt keeps the metadata in memory, so
 * during an attempt only its own engine can change them.
 */
export class RunChanges {
  readonly #kernel: Kernel
  readonly #limits: Pick<Limits, 'tags' | 'metadataBytes'>
  readonly #turns: Breath

  constructor({ kernel, limits, turns }: RunChangesOptions) {
    this.#kernel = kernel
    this.#limits = limits
    this.#turns = turns
  }

  /**
   * Changes the metadata and returns the text of the new value.
   *
   * @throws Refusal 404; 422 for a run that has ended; 409 for a run that another engine executes; 413 if the metadata
   * become too large.
   */
  metadata(id: string, change: MetadataChange): Promise<string> {
    return this.#kernel.runTurns.take(id, async () => {
      for (;;) {
        // Each look at a large document takes long, as does the request that was read before.
        await this.#turns.next()
        const attempt = this.#kernel.executor.attempts.get(id)
        if (attempt?.isEnded === false) return this.#changeInAttempt(attempt, change)
        const record = await this.#require(id)
        if (record.status !== 'QUEUED' && record.status !== 'DELAYED') throw executedElsewhere(id)
        const metadataJson = this.#checked(change(readMetadata(record)))
        if (await this.#update(record, { metadataJson })) return metadataJson
      }
    })
  }

  /** Adds tags and returns the number of new ones. */
  async tags(id: string, added: string | readonly string[]): Promise<number> {
    return (await tagRun(this.#kernel, id, { added, most: this.#limits.tags })).count
  }

  /** Changes the metadata as the task itself would, in one turn, so that no change of the task is lost. */
  #changeInAttempt(attempt: Attempt, change: MetadataChange): Promise<string> {
    return runInAttempt(attempt, async () => {
      let json = ''
      this.#kernel.namespaces.metadata.replace((before) => {
        const values = change(before)
        json = this.#checked(values)
        return { values, json }
      })
      await this.#flushed(attempt)
      return json
    })
  }

  /** Stores the change. An attempt that finishes meanwhile stores it too; one that was ended from outside does not. */
  async #flushed(attempt: Attempt): Promise<void> {
    try {
      await this.#kernel.namespaces.metadata.flush()
      if (!attempt.isEnded || hasFinished(attempt)) return
    } catch (error) {
      if (!(error instanceof WaitpointError)) throw error
    }
    throw new Refusal(
      409,
      `Cannot change the metadata of run "${attempt.id}": its attempt was ended meanwhile`,
    )
  }

  /** The text of metadata, whose size and parts are checked before anything changes. */
  #checked(metadata: JsonObject): string {
    const { metadataBytes } = this.#limits
    const json = toJson(metadata, 'metadata') ?? '{}'
    boundJson(json)
    if (Buffer.byteLength(json) <= metadataBytes) return json
    throw new Refusal(413, `Metadata too large: at most ${metadataBytes} bytes are allowed`)
  }

  async #require(id: string): Promise<RunRecord> {
    const record = await this.#kernel.host.storage.runs.get(id)
    if (record === undefined) throw new Refusal(404, 'Run not found')
    if (!isFinal(record.status)) return record
    throw new Refusal(422, `Cannot change the metadata of run "${id}": it is already ${record.status}`)
  }

  /** Returns false if the run has changed in the meantime. */
  async #update({ id, status, epoch }: RunRecord, change: RunChange): Promise<boolean> {
    const { host, publisher } = this.#kernel
    const expected = { status: [status], epoch }
    const updated = await host.storage.runs.update({ id, expected, change, by: host.owner, now: host.now() })
    if (updated !== undefined) publisher.wake(id)
    return updated !== undefined
  }
}

function executedElsewhere(id: string): Refusal {
  return new Refusal(
    409,
    `Cannot change the metadata of run "${id}": another engine executes it or has claimed it; send the change to that engine`,
  )
}
