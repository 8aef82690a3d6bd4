import type { RunRow } from './run-row.ts'
import { type ShapeOffset, type ShapeRequest, UNSEEN } from './request.ts'

/** What a subscriber is told. */
export interface ShapeNews {
  /** The rows that it has not seen as they are. */
  readonly rows: readonly RunRow[]
  /** How far it is with them. */
  readonly offset: ShapeOffset
  readonly handle: string
  /** What it has seen is no longer kept. */
  readonly isGone?: boolean
}

/** The response to a subscriber by the shape protocol: rows, and that these are all for now. */
export function shapeAnswer({ rows, offset, handle, isGone }: ShapeNews, request: ShapeRequest): Response {
  const isFirst = request.offset === undefined || request.offset.at === UNSEEN.at
  const operation = isFirst ? 'insert' : 'update'
  const messages: object[] = rows.map((row) => ({
    key: `"public"."TaskRun"/"${row.id}"`,
    value: row.columns(request.skipColumns),
    headers: { operation },
  }))
  if (isGone === true) messages.push({ headers: { control: 'must-refetch' } })
  messages.push({ headers: { control: 'up-to-date' } })
  const text = `${offset.at}_${offset.number}`
  return Response.json(messages, {
    headers: {
      'electric-offset': text,
      'electric-handle': handle,
      'electric-up-to-date': '',
      // Values are JSON as they are: nothing is to be parsed.
      ...(request.isLive ? { 'electric-cursor': `${offset.number}` } : { 'electric-schema': '{}' }),
      ...(request.isOld ? { 'electric-chunk-last-offset': text, 'electric-shape-id': handle } : {}),
      'cache-control': 'no-store',
    },
  })
}
