import type { Turns } from '../../core/inside.ts'
import { show } from '../../primitives/require.ts'
import { boundJson } from './bounded-parts.ts'
import { GatheredBytes } from '../../primitives/gathered-bytes.ts'
import { Refusal } from '../refusal.ts'

/** Refuses a body whose announced length exceeds the limit, before any of it is read. */
export function checkAnnouncedLength(request: Request, limitBytes: number): void {
  if (Number(request.headers.get('content-length')) > limitBytes) throw tooLarge()
}

const framed = new WeakSet<Request>()

/** Counts in a body of so many bytes; the answer counts it out again. */
type BeginUpload = (bytes: number) => () => void

const uploads = new WeakMap<Request, BeginUpload>()
/** Bodies up to this length are not counted: a connection takes more. */
const UNCOUNTED_BYTES = 16_384

/** Whether the body of a request is to be counted while it is received. */
export function mayBeLarge({ method, headers }: Request): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const announced = headers.get('content-length')
  return announced === null || !(Number(announced) <= UNCOUNTED_BYTES)
}

/** From now on the body of a request is counted while it is received. */
export function countUpload(request: Request, begin: BeginUpload): void {
  uploads.set(request, begin)
}

/** Marks a request of a server that enforces `content-length`. */
export function trustLength(request: Request): void {
  framed.add(request)
}

/**
 * Reads a whole body. The received bytes are counted, so a missing or false `content-length` lifts no limit. If the
 * server enforces `content-length`, the body is read at once, because reading piece by piece takes twice the time of
 * all other work.
 *
 * @throws Refusal 413 for a body beyond the limit; those of {@link piecesOf}.
 */
export async function readBody(request: Request, limitBytes: number): Promise<Uint8Array> {
  const begin = uploads.get(request)
  if (begin === undefined) return receive(request, limitBytes)
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  const end = begin(announced < limitBytes ? announced : limitBytes)
  try {
    return await receive(request, limitBytes)
  } finally {
    end()
  }
}

async function receive(request: Request, limitBytes: number): Promise<Uint8Array> {
  const isFramed = framed.has(request) && !request.bodyUsed
  const length = isFramed ? request.headers.get('content-length') : null
  if (length !== null && Number(length) <= limitBytes) return readAtOnce(request)
  const body = new GatheredBytes()
  for await (const piece of piecesOf(request)) {
    if (body.size + piece.byteLength > limitBytes) throw tooLarge()
    body.add(piece)
  }
  return body.take()
}

async function readAtOnce(request: Request): Promise<Uint8Array> {
  requireNoEncoding(request)
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (cause) {
    throw brokenOff(cause)
  }
}

/**
 * The JSON value of a text.
 *
 * @throws Refusal 400 for a text that is not JSON; 413 for one with too many parts.
 */
export function parseJson(text: string): unknown {
  boundJson(text)
  return parse(text)
}

/** As {@link parseJson}, for a text that may be large: its parts are counted in one turn, and made into values in the next. */
export async function parseLargeJson(text: string, turns: Turns): Promise<unknown> {
  boundJson(text)
  await turns.next(text.length)
  return parse(text)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Refusal(400, 'Invalid JSON', { cause })
  }
}

/**
 * The pieces of a body, as they come. The last of them is only followed by the end if the body is whole.
 *
 * @throws Refusal 415 for an encoded body, 400 for one that was read before, breaks off, or is not as long as its `content-length` says.
 */
export async function* piecesOf(request: Request): AsyncGenerator<Uint8Array> {
  requireNoEncoding(request)
  const { body, bodyUsed } = request
  if (bodyUsed || body?.locked === true)
    throw new Refusal(400, 'Cannot read the request body: it was read already')
  const reader = body?.getReader()
  let received = 0
  try {
    for (let piece = await readPiece(reader); piece !== undefined; piece = await readPiece(reader)) {
      received += piece.byteLength
      yield piece
    }
  } finally {
    // Not awaited: the source may take long to stop, or never stop.
    reader?.cancel().catch(ignore)
  }
  requireWhole(request, received)
}

/** Codings that leave the bytes of a body as they are, or that the server has undone. */
const PLAIN = /^(?:identity|chunked)?$/i

/** A compressed body is not unpacked: a small one may become a thousand times as large. */
function requireNoEncoding({ headers }: Request): void {
  const names = ['content-encoding', 'transfer-encoding'].flatMap(
    (name) => headers.get(name)?.split(',') ?? [],
  )
  const encoding = names.map((name) => name.trim()).find((name) => !PLAIN.test(name))
  if (encoding !== undefined) throw encodingRefused(encoding)
}

/** The refusal of an encoding. */
export function encodingRefused(encoding: string): Refusal {
  const message = `Cannot read the request body: send it without the encoding ${show(encoding)}`
  return new Refusal(415, message, { headers: { 'accept-encoding': 'identity' } })
}

/** Hosts tell a body that was cut as one that has ended, or as none. */
function requireWhole({ headers, signal }: Request, received: number): void {
  const promised = headers.get('content-length')
  if (promised !== null && Number(promised) !== received)
    throw new Refusal(
      400,
      `Cannot read the request body: it has ${received} bytes, and its content-length is ${show(promised)}`,
    )
  // Its client left before its body was asked for: Node then says that it is empty.
  if (received === 0 && headers.has('transfer-encoding') && signal.aborted) throw brokenOff(signal.reason)
}

async function readPiece(
  reader: ReadableStreamDefaultReader<unknown> | undefined,
): Promise<Uint8Array | undefined> {
  if (reader === undefined) return undefined
  try {
    const { done, value } = await reader.read()
    if (done) return undefined
    if (value instanceof Uint8Array) return value
  } catch (cause) {
    throw brokenOff(cause)
  }
  throw new Refusal(400, 'Cannot read the request body: it does not consist of bytes')
}

function brokenOff(cause: unknown): Refusal {
  return new Refusal(400, 'Cannot read the request body: it broke off', { cause })
}

function tooLarge(): Refusal {
  return new Refusal(413, 'Request body too large')
}

function ignore(): void {
  // The client has disconnected, so the failure has no receiver.
}
