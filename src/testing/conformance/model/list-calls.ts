import type { RunStatus, TokenStatus } from '../../../contract/records.ts'
import type {
  Awaitable,
  PageRequest,
  RunFilter,
  StatusCounts,
  Storage,
  TokenFilter,
} from '../../../contract/storage.ts'
import { describeValue } from '../sameness.ts'
import type { Command } from './command.ts'
import { pick, type Stage } from './stage.ts'

const RUN_STATUSES: readonly (readonly RunStatus[] | undefined)[] = [
  undefined,
  ['QUEUED'],
  ['EXECUTING', 'WAITING'],
  ['COMPLETED', 'CANCELED', 'CRASHED'],
  ['PENDING_VERSION'],
]
const TOKEN_STATUSES: readonly (readonly TokenStatus[] | undefined)[] = [
  undefined,
  ['WAITING'],
  ['COMPLETED', 'TIMED_OUT'],
]
/** More than a program stores. */
const ENOUGH = 1_000
const TAGS: readonly (readonly string[])[] = [[], ['red'], ['blue'], ['red', 'blue']]

/** The tags of a record in a program. */
export function tagsOf({ option }: Command): readonly string[] {
  return pick(TAGS, option >> 2) ?? []
}

/** The list commands of a program. */
export class ListCalls {
  readonly #stage: Stage

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async runs(command: Command): Promise<void> {
    const { option, token } = command
    const filter: RunFilter = {
      status: pick(RUN_STATUSES, option),
      tags: asked(tagsOf(command)),
      ...(token % 5 === 0 && { taskIds: ['task-a'] }),
      ...(token % 5 === 1 && { notTaskIds: ['task-a'] }),
      ...(token % 5 === 2 && { root: pick(this.#stage.runIds, token) }),
      ...(token % 5 === 3 && option % 2 === 0 && { isRoot: true as const }),
      ...boundsOf(command, await this.#stage.run(token)),
    }
    const page = pageOf(command, this.#stage.runIds)
    const what = `runs.list ${describeValue(filter)} ${describeValue(page)}`
    await this.#stage.both(what, (storage) => storage.runs.list(filter, page))
    // These are not counted by.
    const { notTaskIds, root, isRoot, ...counted } = filter
    if (notTaskIds === undefined && root === undefined && isRoot === undefined)
      await this.#counts(filter, ({ counts }) => counts?.runs(counted, ENOUGH))
  }

  /** Only while nothing is due, because the number of tokens that a list settles depends on the extent of its scan. */
  async tokens(command: Command): Promise<void> {
    const { option, token } = command
    const id = pick(this.#stage.tokenIds, token)
    const known = id === undefined ? undefined : await this.#stage.reference.tokens.get(id, this.#stage.now)
    const listed = known?.record.kind ?? 'MANUAL'
    const filter: TokenFilter = {
      kind: listed,
      status: pick(TOKEN_STATUSES, option >> 1),
      tags: asked(tagsOf(command)),
      ...(listed === 'MANUAL' && boundsOf(command, known?.record)),
    }
    const page = pageOf(command, this.#stage.tokenIds)
    const what = `tokens.list ${describeValue(filter)} ${describeValue(page)}`
    await this.#stage.both(what, (storage) => storage.tokens.list(filter, page, this.#stage.now))
    const { kind, key: _key, ...counted } = filter
    if (kind === 'MANUAL') await this.#counts(filter, ({ counts }) => counts?.tokens(counted, ENOUGH))
  }

  /** A storage may leave out a status without records, and have no counts at all. */
  async #counts(
    filter: object,
    count: (storage: Storage) => Awaitable<StatusCounts<string>> | undefined,
  ): Promise<void> {
    if (this.#stage.storage.counts === undefined) return
    await this.#stage.both(`counts ${describeValue(filter)}`, async (storage) => {
      const counts = Object.entries((await count(storage)) ?? {})
      return Object.fromEntries(counts.filter(([, one]) => one?.count !== 0))
    })
  }
}

/** Bounds are inclusive, so they are placed exactly at records. */
function boundsOf(
  { serial }: Command,
  record: { readonly createdAt: number } | undefined,
): { readonly from?: number; readonly to?: number } {
  if (record === undefined || serial % 4 === 0) return {}
  return serial % 4 === 1 ? { from: record.createdAt } : { to: record.createdAt }
}

/** An empty list of tags would match nothing, unlike a filter without tags. */
function asked(tags: readonly string[]): readonly string[] | undefined {
  return tags.length === 0 ? undefined : tags
}

function pageOf({ option, run }: Command, ids: readonly string[]): PageRequest {
  const limit = (option % 5) + 1
  const id = pick(ids, run)
  if (id === undefined || option % 3 === 0) return { limit }
  return option % 3 === 1 ? { limit, after: id } : { limit, before: id }
}
