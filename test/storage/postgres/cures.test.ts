import { describe, expect, it } from 'vitest'
import { cureOf } from '../../../src/storage/postgres/cures.ts'
import { isServerAway, postgresMessage } from '../../../src/storage/postgres/errors.ts'

function driverError(message: string, code?: string): Error {
  return Object.assign(new Error(message), code !== undefined && { code })
}

describe('cureOf', () => {
  it.each<readonly [message: string, code: string | undefined, cure: RegExp]>([
    ['connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED', /no server listens there/],
    ['getaddrinfo ENOTFOUND database', 'ENOTFOUND', /check the host/],
    ['password authentication failed for user "app"', '28P01', /the user and the password/],
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', undefined, /the password/],
    [
      'no pg_hba.conf entry for host "10.0.0.1", user "app", database "app", no encryption',
      '28000',
      /sslmode=verify-full/,
    ],
    [
      'no pg_hba.conf entry for host "10.0.0.1", user "app", database "app", SSL encryption',
      '28000',
      /in pg_hba\.conf of/,
    ],
    ['The server does not support SSL connections', undefined, /leave `sslmode` out/],
    ['self-signed certificate', 'DEPTH_ZERO_SELF_SIGNED_CERT', /sslrootcert=/],
    ['self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN', /sslrootcert=/],
    ["Host: a is not in the cert's altnames: DNS:b", 'ERR_TLS_CERT_ALTNAME_INVALID', /the name that is in/],
    ['sorry, too many clients already', '53300', /raise max_connections/],
    ['timeout exceeded when trying to connect', undefined, /all connections of the pool are in use/],
    ['Connection terminated due to connection timeout', undefined, /did not answer/],
    ['canceling statement due to statement timeout', '57014', /raise `statementTimeoutMs`/],
    ['unsupported startup parameter: statement_timeout', '08P01', /a pooler is in between/],
    ['Cannot use a pool after calling end on the pool', undefined, /once all engines that use it/],
  ])('knows what to do about %s', (message, code, cure) => {
    expect(cureOf(driverError(message, code))).toMatch(cure)
    expect(postgresMessage(driverError(message, code))).toMatch(new RegExp(`^[^]+; [^]*${cure.source}`))
  })

  it('is told once, whatever wraps the error', () => {
    const cause = driverError('timeout exceeded when trying to connect')
    const opening = new Error(`Cannot open Postgres schema "app": ${postgresMessage(cause)}`, { cause })
    expect(postgresMessage(opening)).toBe(opening.message)
  })

  it('adds nothing to an error that says enough', () => {
    expect(postgresMessage(driverError('division by zero', '22012'))).toBe('division by zero')
    expect(cureOf(undefined)).toBeUndefined()
  })
})

describe('isServerAway', () => {
  it.each(['28P01', '28000', '3D000', '57014', '53300', 'SELF_SIGNED_CERT_IN_CHAIN'])(
    'is true of %s: the task is not to blame',
    (code) => {
      expect(isServerAway(driverError('', code))).toBe(true)
    },
  )

  it('is false of what a request has done', () => {
    expect(isServerAway(driverError('division by zero', '22012'))).toBe(false)
  })
})
