import { cryptoRandom } from '../clock/crypto-random.ts'

/** The key of the environment, or a new one that cannot be guessed. */
export function randomKey(env: Readonly<Record<string, string | undefined>>): string {
  const given = env['WAITPOINT_SECRET_KEY']
  return given !== undefined && given !== ''
    ? given
    : Buffer.from(cryptoRandom().bytes(24)).toString('base64url')
}
