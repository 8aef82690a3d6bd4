import type { RunRecord, SegmentEnd } from '../../../contract/records.ts'
import type { ChunkRead, ChunksRead } from '../../../contract/storage.ts'
import { chunkOf } from '../sample-records.ts'
import { describeValue } from '../sameness.ts'
import type { Command } from './command.ts'
import { type Call, pick, type Stage } from './stage.ts'

const KEYS = ['draft', 'log'] as const
/** A writer outside of the runs. */
const WRITER = 'client'
/** The number of runs that write streams at a time. */
const FEW = 2
/** More than any program writes, because storages may differ in the chunks they drop. */
const HISTORY = { chunks: 10_000, bytes: 10_000_000 }
const ENDS: readonly (SegmentEnd | undefined)[] = [
  undefined,
  undefined,
  { reason: 'done' },
  { reason: 'failed', errorJson: '{"message":"no"}' },
]

/** The stream commands of a program. */
export class StreamCalls {
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  /** Opens a stream, possibly again. */
  async open(command: Command): Promise<void> {
    const run = (await this.writer(command)) ?? (await this.#stage.run(command.run))
    // The holder of the run has left, so there is no writer.
    if (run?.owner !== undefined) await this.#open(run, command)
  }

  /** Appends new chunks, repeats earlier ones with new ones after them, contradicts stored ones, or leaves a gap. */
  async append(command: Command): Promise<void> {
    const { option } = command
    const run = await this.writer(command)
    if (run === undefined) return
    if ((await this.#known(run, command))?.segments.at(-1)?.attempt !== run.attempt)
      await this.#open(run, { ...command, isStale: false })
    const stream = await this.#known(run, command)
    const segment = stream?.segments.at(-1)
    if (stream === undefined || segment === undefined) return
    const { id: runId, epoch, owner = 'nobody' } = run
    const repeated = Math.min(option % 3, stream.next - segment.first)
    const isWrong = option % 11 === 0
    const first = stream.next - repeated + (isWrong && repeated === 0 ? 1 : 0)
    const fresh = 1 + (option % 2)
    const chunks = Array.from({ length: repeated + fresh }, (_, at) =>
      chunkOf({ [keyOf(command)]: first + at, by: isWrong ? 'nobody' : run.attempt }),
    )
    const request = {
      runId,
      key: keyOf(command),
      epoch: command.isStale && !isWrong ? epoch - 1 : epoch,
      first,
      chunks,
      end: pick(ENDS, option >> 2),
      written: option % 2 === 0 ? [{ writer: WRITER, last: option }] : undefined,
      history: HISTORY,
      by: owner,
    }
    const call: Call = async (storage) => {
      try {
        return await storage.chunks.append(request)
      } catch {
        return 'an error'
      }
    }
    await this.#stage.both(`chunks.append ${describeValue(request)}`, call)
  }

  /**
   * Adds chunks to a stream of one run by the attempt of another one, new ones or again some that it has added. Without effect on
   * a storage in which no run writes to streams of others.
   */
  async add(command: Command): Promise<void> {
    const { storage, reference, now } = this.#stage
    const { option } = command
    if (storage.chunks.add === undefined || reference.chunks.add === undefined) return
    const run = (await this.writer(command)) ?? (await this.#stage.run(command.token))
    const author = await this.#author(command)
    if (run === undefined || author?.owner === undefined || author.id === run.id) return
    const writer = `run ${author.id} ${author.epoch}`
    const name = { runId: run.id, key: keyOf(command) }
    const known = await reference.chunks.read({ ...name, from: 0, limit: 0, writer })
    const last = (known?.written ?? -1) + (option % 3)
    const chunks = Array.from({ length: Math.min(last + 1, option % 4) }, (_, at) =>
      chunkOf({ of: author.id, at: last - at }),
    )
    const request = {
      ...name,
      fence: { runId: author.id, epoch: command.isStale ? author.epoch - 1 : author.epoch },
      chunks,
      end: pick(ENDS, option >> 2),
      written: chunks.length === 0 ? undefined : { writer, last },
      history: HISTORY,
      by: author.owner,
      now,
    }
    await this.#stage.both(`chunks.add ${describeValue(request)}`, (one) => one.chunks.add?.(request))
  }

  /** Any run that has an attempt. */
  async #author({ option }: Command): Promise<RunRecord | undefined> {
    const status = ['EXECUTING', 'WAITING'] as const
    const { records } = await this.#stage.reference.runs.list({ status }, { limit: 1_000 })
    return pick(records, option)
  }

  /** Reads a part of a stream. */
  async read(command: Command): Promise<void> {
    const run = (await this.writer(command)) ?? (await this.#stage.run(command.run))
    if (run === undefined) return
    const stream = await this.#known(run, command)
    const from = command.option % ((stream?.next ?? 0) + 1)
    const writer = command.option % 2 === 0 ? WRITER : undefined
    await this.#read({ runId: run.id, key: keyOf(command), from, limit: (command.option % 4) + 1, writer })
  }

  /** Reads all streams of a run. */
  async compare(runId: string): Promise<void> {
    for (const key of KEYS) await this.#read({ runId, key, from: 0, limit: 1_000, writer: WRITER })
  }

  /** One of the few runs with the most attempts, because streams of many attempts are otherwise rare. */
  async writer({ run }: Command): Promise<RunRecord | undefined> {
    if (run % 8 === 0) return undefined
    const status = ['EXECUTING', 'WAITING'] as const
    const { records } = await this.#stage.reference.runs.list({ status }, { limit: 1_000 })
    const held = records.filter(({ owner }) => owner !== undefined)
    const eldest = held.sort((one, other) => other.attempt - one.attempt)
    return pick(eldest.slice(0, FEW), run)
  }

  async #open({ id: runId, epoch, attempt, owner = 'nobody' }: RunRecord, command: Command): Promise<void> {
    const fence = { epoch: command.isStale ? epoch - 1 : epoch, attempt, by: owner, now: this.#stage.now }
    const request = { runId, key: keyOf(command), ...fence }
    await this.#stage.both(`chunks.open ${describeValue(request)}`, (storage) => storage.chunks.open(request))
  }

  async #read(request: ChunkRead): Promise<void> {
    await this.#stage.both(`chunks.read ${describeValue(request)}`, async (storage) => {
      const read: ChunksRead | undefined = await storage.chunks.read(request)
      return read && { ...read, chunks: read.chunks.map(({ text, value }) => [text, value]) }
    })
  }

  async #known({ id: runId }: RunRecord, command: Command): Promise<ChunksRead['stream'] | undefined> {
    const request = { runId, key: keyOf(command), from: 0, limit: 1 }
    return (await this.#stage.reference.chunks.read(request))?.stream
  }
}

/** Mostly the first key. */
function keyOf({ token }: Command): string {
  return token % 4 === 0 ? KEYS[1] : KEYS[0]
}
