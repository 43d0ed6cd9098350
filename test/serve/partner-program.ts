// A program written for the API, with nothing but `fetch`. It knows an address and a secret, and nothing of Boat Mirror.

type Json = { readonly [name: string]: unknown }
type Answer = { readonly status: number; readonly body: unknown }

/** What it found out and did, as it would show it to its users. */
export async function runPartner(base: string, secret: string, today: string): Promise<Record<string, unknown>> {
  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: {
        'x-api-key': secret,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
  }
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await call('GET', path)
    if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${JSON.stringify(body)}`)
    return body as Json
  }
  const list = async (path: string): Promise<readonly Json[]> => (await get(path)) as unknown as readonly Json[]

  const every = async (path: string, perPage: number): Promise<readonly Json[]> => {
    const found: Json[] = []
    for (let page = 1; ; page += 1) {
      const records = await list(`${path}?perPage=${perPage}&page=${page}`)
      found.push(...records)
      if (records.length < perPage) return found
    }
  }

  const companies = await every('/v3/companies', 2)
  const resources = await every('/v3/resources', 3)
  const fleet = companies.map(({ id, companyBrandName }) => ({
    ...{ id, companyBrandName },
    boats: resources.filter(({ company }) => (company as Json).id === id).map(({ id: boat }) => boat),
  }))

  // The first boat that is free today, and what it costs.
  const offers: unknown[] = []
  let slot: { readonly resourceId: string; readonly slotId: string } | null = null
  for (const { id } of resources) {
    const [duration] = await list(`/v3/resources/${id}/durations`)
    if (duration === undefined) continue
    const query = `date=${today}&duration=${encodeURIComponent(`${duration.type},${duration.value}`)}`
    const availability = await get(`/v3/resources/${id}/availability?${query}`)
    const slots = await list(`/v3/resources/${id}/slots?${query}`)
    const prices = await get(`/v3/resources/${id}/pricetable?from=${today}&to=${today}`)
    const calendar = await get(`/v3/resources/${id}/availabilities`)
    offers.push({
      id,
      duration,
      availability,
      slots,
      prices,
      calendar,
      options: await list(`/v3/resources/${id}/options`),
    })
    if (slot === null && slots[0] !== undefined) slot = { resourceId: String(id), slotId: String(slots[0].id) }
  }
  if (slot === null) throw new Error('No boat is free today.')

  const rentals = await every('/v3/rentals', 5)
  const [first] = rentals
  const known = await get(`/v3/rentals/${first?.id}`)
  const parts = {
    options: await list(`/v3/rentals/${first?.id}/options`),
    payments: await list(`/v3/rentals/${first?.id}/payments`),
    user: await get(`/v3/rentals/${first?.id}/user`),
  }

  // A booking from its first step to its last.
  const created = await call('POST', '/v3/rentals', { ...slot, addMandatoryOptions: false, referenceId: 4711 })
  const path = `/v3/rentals/${(created.body as Json).id}`
  const [option] = await list(`/v3/resources/${slot.resourceId}/options`)
  const booking = {
    created,
    read: await call('GET', path),
    added: await call('POST', `${path}/options`, { optionId: option?.id, quantity: 1, commissionPrice: '0' }),
    assigned: await call('POST', `${path}/user`, { userId: (parts.user as Json).id }),
    options: await call('GET', `${path}/options`),
    confirmed: await call('PUT', path, { ...(await get(path)), status: 'VALIDATED' }),
    after: await call('GET', path),
    refused: (await call('POST', `${path}/payments`, { price: 'much' })).status,
    removed: await call('DELETE', path),
    gone: (await call('GET', path)).status,
  }

  const wrong = await fetch(`${base}/v3/rentals`, { headers: { 'x-api-key': `${secret}-wrong` } })
  return {
    ...{ fleet, resources, offers, rentals, known, parts, booking },
    missing: (await call('GET', '/v3/rentals/999999999')).status,
    noPath: (await call('GET', '/v3/boats')).status,
    wrongSecret: wrong.status,
  }
}
