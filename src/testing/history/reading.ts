import type { KeyRecord, RunRecord, TokenKind, TokenRecord } from '../../contract/records.ts'
import { boundRunId, isRunBinding } from '../../contract/run-binding.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Awaitable, Page, PageRequest, RunAsked, Storage } from '../../contract/storage.ts'
import { readEffect, readName } from '../../contract/question-keys.ts'
import { runNotFound } from '../../api/not-found.ts'
import { fromJson, storedError } from '../../api/serialize.ts'
import { storedAttempts } from '../../api/thrown-attempts.ts'
import { defined } from '../../primitives/defined.ts'
import { idsAt } from '../../primitives/id.ts'
import { TestError } from '../test-error.ts'
import type { RedactedPlace, Redaction } from './redaction.ts'
import type { HistoryChild, HistoryKey, HistoryRun, HistoryToken, RunHistory } from './shape.ts'

/** No token is due by then: to read one changes nothing. */
const BEFORE_ALL = 0
const PAGE = 100
/** So many records of the time of the run are looked through for what has a key of users. */
const LOOKED_THROUGH = 2_000
/** So many tokens that the texts of a run name are read. */
const MOST_NAMED = 200
const TOKEN_ID = /waitpoint_[0-9a-z]{8,64}/gu
/** The result of an effect that is not JSON begins with this. */
const NOT_JSON = ' '
/** The kinds of tokens with a key of the user's, and how their ids begin. */
const KEYED_KINDS: readonly (readonly [kind: TokenKind, prefix: string])[] = [
  ['MANUAL', 'waitpoint'],
  ['SLEEP', 'sleep'],
  ['BINDING', 'binding'],
]

interface Records {
  readonly run: RunRecord
  readonly tokens: readonly TokenRecord[]
  readonly children: readonly RunRecord[]
  /** The tokens that it waits for. */
  readonly waits: readonly TokenRecord[]
}

/**
 * Reads what a storage has of a run. Nothing is written.
 *
 * @throws WaitpointError `ERR_RUN_NOT_FOUND`; TestError `ERR_NO_HISTORY` for a run whose function was never called.
 */
export async function readHistory(
  storage: Storage,
  runId: string,
  { now, redaction }: { readonly now: number; readonly redaction: Redaction },
): Promise<RunHistory> {
  const { run, tokens, children, waits } = await readRecords(storage, runId, now)
  return {
    format: 1,
    readAt: instant(now),
    ...(redaction.isOn ? { isRedacted: true } : {}),
    run: historyRun(run, waits, redaction),
    tokens: tokens.map((token) => historyToken(token, { runId, redaction })),
    children: children.map((child) => historyChild(child, { runId, redaction })),
  }
}

async function readRecords(storage: Storage, runId: string, now: number): Promise<Records> {
  const run = await storage.runs.get(runId)
  if (run === undefined) throw runNotFound(runId)
  if (run.startedAt === undefined || run.attempt === 0)
    throw new TestError(
      'ERR_NO_HISTORY',
      `Cannot export run "${runId}": its function was never called (it is ${run.status})`,
    )
  const asked = await storage.runs.asked(runId)
  const time = { from: run.createdAt, to: run.finishedAt ?? now }
  const keyed: TokenRecord[] = []
  for (const [kind, prefix] of KEYED_KINDS) {
    const list = (page: PageRequest): Awaitable<Page<TokenRecord>> =>
      storage.tokens.list({ kind }, page, BEFORE_ALL)
    keyed.push(...(await looked(list, { prefix, ...time })))
  }
  const triggered = await looked((page) => storage.runs.list({}, page), { prefix: 'run', ...time })
  const children = byAge([
    ...asked.runs,
    ...(await boundRuns(storage, asked)),
    ...triggered.filter(({ parentId }) => parentId === runId),
  ])
  const own = byAge([...asked.tokens, ...keyed.filter((token) => token.runId === runId)])
  const waits = isFinal(run.status) ? [] : await storage.runs.waits(runId)
  const others = [
    ...waits.filter(({ kind }) => kind !== 'RUN'),
    ...(await named(storage, { run, tokens: own, children })),
  ]
  return { run, tokens: byAge([...others, ...own]), children, waits }
}

/** The runs that places of a run are bound to: most have another parent. */
async function boundRuns({ runs }: Storage, { tokens }: RunAsked): Promise<readonly RunRecord[]> {
  const ids = new Set(tokens.filter(isRunBinding).map(boundRunId))
  const found: RunRecord[] = []
  for (const id of ids) {
    const run = await runs.get(id)
    if (run !== undefined) found.push(run)
  }
  return found
}

/** The first pages of a list, of what was created within a time: ids begin with it. */
async function looked<Record extends { readonly id: string }>(
  list: (page: PageRequest) => Awaitable<Page<Record>>,
  { prefix, from, to }: { readonly prefix: string; readonly from: number; readonly to: number },
): Promise<readonly Record[]> {
  const found: Record[] = []
  const first = idsAt(prefix, from)
  let after: string | undefined = idsAt(prefix, to + 1)
  do {
    const { records, next }: Page<Record> = await list({ limit: PAGE, after })
    found.push(...records.filter(({ id }) => id >= first))
    after = (records.at(-1)?.id ?? '') < first ? undefined : next
  } while (after !== undefined && found.length < LOOKED_THROUGH)
  return found
}

/** The tokens of others that the texts of a run name: a run waits only for what it has been told. */
async function named(
  { tokens: store }: Storage,
  { run, tokens, children }: Omit<Records, 'waits'>,
): Promise<readonly TokenRecord[]> {
  const texts = [
    run.payloadJson,
    run.metadataJson,
    ...tokens.map(({ outputJson }) => outputJson),
    ...children.map(({ outputJson }) => outputJson),
  ]
  const own = new Set(tokens.map(({ id }) => id))
  const ids = new Set(texts.flatMap((text) => text?.match(TOKEN_ID) ?? []).filter((id) => !own.has(id)))
  const found: TokenRecord[] = []
  for (const id of [...ids].slice(0, MOST_NAMED)) {
    const read = await store.get(id, BEFORE_ALL)
    if (read !== undefined) found.push(read.record)
  }
  return found
}

/** Each once, oldest first. */
function byAge<Record extends { readonly id: string; readonly createdAt: number }>(
  records: readonly Record[],
): readonly Record[] {
  const each = new Map(records.map((record) => [record.id, record]))
  return [...each.values()].sort(
    (one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
  )
}

function historyRun(run: RunRecord, waits: readonly TokenRecord[], redaction: Redaction): HistoryRun {
  const { id, taskId, status, attempt, policyAttempt, parentId, rootId } = run
  const value = (of: RedactedPlace['of'], text: string | undefined): unknown =>
    redaction.value(fromJson(text), { of, id })
  return {
    id,
    taskId,
    status,
    attempt,
    policyAttempt,
    tags: redaction.texts(run.tags, { of: 'tag', id }),
    rootId,
    ...defined({
      payload: value('payload', run.payloadJson),
      metadata: value('metadata', run.metadataJson),
      options: value('options', run.optionsJson),
      output: value('output', run.outputJson),
      error: run.errorJson === undefined ? undefined : redaction.error(storedError(run.errorJson), id),
      parentId,
      waitsFor: isFinal(run.status) ? undefined : waits.map((token) => token.id),
    }),
    attempts: storedAttempts(run.attemptsJson).map(({ number, startedAt, endedAt, error }) => ({
      number,
      startedAt: instant(startedAt),
      endedAt: instant(endedAt),
      error: redaction.error(error, id),
    })),
    createdAt: instant(run.createdAt),
    startedAt: instant(run.startedAt ?? run.createdAt),
    ...defined({ finishedAt: maybeInstant(run.finishedAt) }),
  }
}

function historyToken(token: TokenRecord, reader: KeyReader): HistoryToken {
  const { redaction } = reader
  const { id, kind, status, outputJson, runId } = token
  const isStored = outputJson?.startsWith(NOT_JSON) !== true
  const of = kind === 'ONCE' ? 'effect' : 'answer'
  const output = fromJson(isStored ? outputJson : undefined)
  return {
    id,
    kind,
    status,
    // The tags of an effect are the engine's own.
    tags: kind === 'ONCE' ? token.tags : redaction.texts(token.tags, { of: 'tag', id }),
    ...defined({
      key: historyKey(token, reader),
      runId,
      // That of a binding is an id, by which its record is found.
      output: kind === 'BINDING' ? output : redaction.value(output, { of, id }),
      notStored: isStored ? undefined : String(fromJson(outputJson)),
      timeoutAt: maybeInstant(token.timeoutAt),
    }),
    createdAt: instant(token.createdAt),
    ...defined({ completedAt: maybeInstant(token.completedAt) }),
  }
}

function historyChild(child: RunRecord, reader: KeyReader): HistoryChild {
  const { redaction } = reader
  const { id, taskId, status } = child
  const value = (of: RedactedPlace['of'], text: string | undefined): unknown =>
    redaction.value(fromJson(text), { of, id })
  return {
    id,
    taskId,
    status,
    tags: redaction.texts(child.tags, { of: 'tag', id }),
    ...defined({
      key: historyKey(child, reader),
      payload: value('payload', child.payloadJson),
      output: value('output', child.outputJson),
      error: child.errorJson === undefined ? undefined : redaction.error(storedError(child.errorJson), id),
    }),
    createdAt: instant(child.createdAt),
    ...defined({ finishedAt: maybeInstant(child.finishedAt) }),
  }
}

/** Only names are redacted: places are hashes, and need no secret. */
function historyKey(
  { id, key }: { readonly id: string; readonly key?: KeyRecord | undefined },
  { runId, redaction }: KeyReader,
): HistoryKey | undefined {
  if (key === undefined) return undefined
  const { scope, value } = key
  const redact = (name: string): string => redaction.text(name, { of: 'name', id })
  // The key of a user.
  if (scope !== runId) return { scope, value: redact(value) }
  const name = readEffect(value) ?? readName(value)?.name ?? ''
  // The kind of the key and the number of the attempt stand in front of the name.
  return { scope, value: name === '' ? value : value.slice(0, value.length - name.length) + redact(name) }
}

interface KeyReader {
  /** The run whose keys are the engine's. */
  readonly runId: string
  readonly redaction: Redaction
}

function instant(at: number): string {
  return new Date(at).toISOString()
}

function maybeInstant(at: number | undefined): string | undefined {
  return at === undefined ? undefined : instant(at)
}
