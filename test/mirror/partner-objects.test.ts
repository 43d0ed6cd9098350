// What Postgres answers is read by its fields and codes: it may speak another language (lc_messages).

import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { postgresQueueError } from '../../src/jobs/postgres/backend-ready.ts'
import { refusalByPartner } from '../../src/mirror/partner-objects.ts'

const answered = (message: string, fields: Partial<pg.DatabaseError>): pg.DatabaseError =>
  Object.assign(new pg.DatabaseError(message, message.length, 'error'), { severity: 'FEHLER', ...fields })

describe('Postgres in another language', () => {
  const contexts = [
    ['English', 'PL/pgSQL function partner.refuse() line 2 at RAISE\nCOPY harbours, line 1: "1"'],
    ['German', 'PL/pgSQL-Funktion partner.refuse() Zeile 2 bei RAISE\nCOPY harbours, Zeile 1: »1«'],
    ['French', 'fonction PL/pgSQL partner.refuse(), ligne 2 à RAISE'],
    ['Japanese', 'PL/pgSQL関数partner.refuse()の2行目 - RAISE'],
  ] as const
  for (const [language, where] of contexts)
    it(`${language}: the trigger of a partner is named, a function of ours is not`, () => {
      const failure = answered('nein', { code: 'P0001', where })
      expect(refusalByPartner(failure)?.reason).toContain('raised by partner.refuse() in a trigger')
      const ours = answered('nein', {
        code: 'P0001',
        where: where.replace('partner.refuse', 'outbox.forget_gone_user'),
      })
      expect(refusalByPartner(ours)).toBeNull()
    })

  it('a lock or a lost connection in a trigger stays what it is: tried again', () => {
    const where = 'PL/pgSQL function partner.refuse() line 2 at SQL statement'
    for (const code of ['40P01', '40001', '55P03', '57014', '53100'])
      expect(refusalByPartner(answered('nein', { code, where }))).toBeNull()
  })

  it('the queue tells a refusal from an outage by the code', () => {
    expect(postgresQueueError(answered('Relation »job« existiert nicht', { code: '42P01' })).code).toBe('QUEUE_REFUSED')
    expect(postgresQueueError(answered('Passwort-Authentifizierung fehlgeschlagen', { code: '28P01' })).code).toBe(
      'QUEUE_REFUSED',
    )
    expect(postgresQueueError(answered('the schema of things', { code: '57P03' })).code).toBe('QUEUE_UNREACHABLE')
  })
})
