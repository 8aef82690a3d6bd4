import { type Inside, outsideRuns, type Turns } from '../../core/inside.ts'
import { type Caller, expiredAccess } from '../access/caller.ts'
import type { LiveRequest } from '../live-request.ts'
import type { RunRow } from './run-row.ts'
import { type ShapeOffset, type ShapeRequest, UNSEEN } from './request.ts'
import {
  OLDER_SHAPE_HANDLE,
  OLDER_SHAPE_OFFSET,
  SHAPE_CURSOR,
  SHAPE_HANDLE,
  SHAPE_IS_CURRENT,
  SHAPE_OFFSET,
  SHAPE_SCHEMA,
} from '../../hosted/headers.ts'
import { MUST_REFETCH, UP_TO_DATE } from '../../hosted/shapes.ts'

/** Rows are made this far ahead of the client. */
const AHEAD_BYTES = 64 * 1_024

/** Rows up to this size are answered in one piece. */
const ONE_PIECE = 65_536

/** A row of an answer, with the run unless it is to be read again when the row is sent. */
export interface ShownRow {
  readonly id: string
  readonly updatedAt: number
  readonly version: number
  readonly row: RunRow | undefined
}

/** The row of a run as it is now; `undefined` if the run is no longer stored. */
export type ReadAgain = (id: string) => Promise<RunRow | undefined>

/** The content of one answer to a subscriber. */
export interface ShapeChanges {
  /** The rows that changed since the subscriber last asked. */
  readonly rows: readonly ShownRow[]
  /** For rows that come without their run. */
  readonly readAgain?: ReadAgain
  /** The position of the subscriber after this answer. */
  readonly offset: ShapeOffset
  readonly handle: string
  /** The position of the subscriber is no longer kept. */
  readonly isGone?: boolean
}

/** The request that is answered, and the parts that an answer needs. */
export interface ShapeReceiver {
  readonly request: ShapeRequest
  readonly caller: Caller
  readonly turns: Turns
  readonly inside: Pick<Inside, 'host' | 'report'>
  readonly live: Pick<LiveRequest, 'breakOff'>
}

/**
 * The response of the shape protocol: rows, and a marker that the subscriber is up to date. The body is made row by row, as
 * fast as the client reads it.
 */
export function shapeAnswer(changes: ShapeChanges, to: ShapeReceiver): Response {
  const { rows, offset, handle } = changes
  const { request } = to
  const text = `${offset.at}_${offset.number}`
  const headers = {
    [SHAPE_OFFSET]: text,
    [SHAPE_HANDLE]: handle,
    [SHAPE_IS_CURRENT]: '',
    // Values are plain JSON, so the client must not parse them again.
    ...(request.isLive ? { [SHAPE_CURSOR]: `${offset.number}` } : { [SHAPE_SCHEMA]: '{}' }),
    ...(request.isOld ? { [OLDER_SHAPE_OFFSET]: text, [OLDER_SHAPE_HANDLE]: handle } : {}),
    'cache-control': 'no-store',
  }
  const size = rows.reduce((sum, { row }) => sum + (row?.size ?? Infinity), 0)
  if (size <= ONE_PIECE) {
    const messages = rows.flatMap(({ row }) => (row === undefined ? [] : [messageOf(row, to)]))
    return Response.json([...messages, ...controls(changes)], { headers })
  }
  return new Response(rowsBody(changes, to), {
    headers: { 'content-type': 'application/json', ...headers },
  })
}

function messageOf(row: RunRow, { request, caller }: ShapeReceiver): object {
  const isFirst = request.offset === undefined || request.offset.at === UNSEEN.at
  return {
    key: `"public"."TaskRun"/"${row.id}"`,
    value: row.columns(request.skipColumns, caller),
    headers: { operation: isFirst ? 'insert' : 'update' },
  }
}

function controls({ isGone }: ShapeChanges): readonly object[] {
  const upToDate = { headers: { control: UP_TO_DATE } }
  return isGone === true ? [{ headers: { control: MUST_REFETCH } }, upToDate] : [upToDate]
}

/** One row at a time is in memory, and what the connection keeps. */
function rowsBody(changes: ShapeChanges, to: ShapeReceiver): ReadableStream<Uint8Array> {
  const texts = rowTexts(changes, to)
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      // The reader may be a run. Reading must not count as a wait of that run.
      pull: (controller) =>
        outsideRuns(async () => {
          const step = await texts.next()
          if (step.done === true) controller.close()
          else controller.enqueue(encoder.encode(step.value))
        }).catch((error: unknown) => {
          if (!to.live.breakOff(error, to.inside)) throw error
        }),
      cancel: async () => {
        await texts.return(undefined)
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
  )
}

async function* rowTexts(changes: ShapeChanges, to: ShapeReceiver): AsyncGenerator<string, undefined> {
  const { inside, caller, turns } = to
  let before = '['
  for (const { id, row: kept } of changes.rows) {
    await turns.next(kept?.size)
    if (caller.expiresAt !== undefined && inside.host.now() >= caller.expiresAt) throw expiredAccess()
    const row = kept ?? (await changes.readAgain?.(id))
    if (row === undefined) continue
    yield before + JSON.stringify(messageOf(row, to))
    before = ','
  }
  yield `${before}${controls(changes)
    .map((control) => JSON.stringify(control))
    .join()}]`
  return undefined
}
