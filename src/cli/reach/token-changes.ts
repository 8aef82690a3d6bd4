import { Transport } from '../../client/connection/transport.ts'
import { type ClientOptions, readClientOptions } from '../../client/connection/options.ts'
import { readCompletedToken } from '../../client/wire/token.ts'
import { WireRecord } from '../../client/wire/record.ts'
import { cryptoRandom } from '../../clock/crypto-random.ts'
import { plainClock } from '../../clock/plain.ts'
import type { CompletedToken, EngineWaitNamespace } from '../../api/token.ts'
import {
  type Address,
  EXTEND_TOKEN_ADDRESS,
  REASSIGN_TOKEN_ADDRESS,
  WITHDRAW_TOKEN_ADDRESS,
} from '../../hosted/addresses.ts'
import { idOf } from '../../primitives/require.ts'

/** What can be changed of a token that waits. */
export type TokenChanges = Pick<EngineWaitNamespace, 'withdrawToken' | 'extendToken' | 'reassignToken'>

/** Changes of tokens of an app behind HTTP. The client, which is for pages too, has none: they take a secret key. */
export function remoteTokenChanges(options: ClientOptions): TokenChanges {
  const transport = new Transport(readClientOptions(options, { clock: plainClock(), random: cryptoRandom() }))
  const change = async (token: unknown, address: Address, body: object): Promise<CompletedToken> => {
    const request = { address, ids: [String(idOf(token))], body: JSON.stringify(body) }
    return readCompletedToken(new WireRecord((await transport.call(request)).body, 'a changed token'))
  }
  return {
    withdrawToken: (token, withdrawal = {}) => change(token, WITHDRAW_TOKEN_ADDRESS, withdrawal),
    extendToken: (token, timeout) => change(token, EXTEND_TOKEN_ADDRESS, { timeout }),
    reassignToken: (token, approvers) => change(token, REASSIGN_TOKEN_ADDRESS, { approvers }),
  }
}
