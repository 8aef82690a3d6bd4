import type { RetrievedToken, Token } from '../../api/token.ts'
import { frameOf } from '../events/sse-frame.ts'
import { retrievedTokenJson, tokenJson, type TokenReader } from './json.ts'

/** The states of a token as events `token`; the last one is settled. */
export async function* tokenEvents(
  tokens: AsyncIterable<RetrievedToken<unknown>>,
  reader: TokenReader,
): AsyncGenerator<string> {
  for await (const token of tokens)
    yield frameOf({ event: 'token', data: JSON.stringify(retrievedTokenJson(token, reader)) })
}

/** Lists of tokens as events `tokens`. */
export async function* listEvents(
  lists: AsyncIterable<readonly Token[]>,
  reader: TokenReader,
): AsyncGenerator<string> {
  for await (const tokens of lists)
    yield frameOf({
      event: 'tokens',
      data: JSON.stringify({ data: tokens.map((token) => tokenJson(token, reader)) }),
    })
}
