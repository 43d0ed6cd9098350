// Companies: the owners of the boats (docs/sources.md, 2.2, 4.2).

import { bigint, json, reference, text } from './columns.ts'
import type { StreamDef } from './types.ts'

export const companies: StreamDef = {
  name: 'companies',
  comment: 'Rental companies.',
  source: 'docs/sources.md, 2.2, 4.2',
  key: ['id'],
  companyColumn: 'id',
  columns: [
    bigint('id', 'Company ID. Read only.'),
    reference('addressCity.id', 'City: cities.id. Read only.'),
    text('addressPostalCode', 'Postal code. Read only.'),
    text('addressStreet1', 'Address street 1. Read only.'),
    text('addressStreet2', 'Address street 2. Read only.'),
    text('companyBrandName', 'Brand name. Read only.'),
    text('companyContactEmail', 'Contact email. Read only.'),
    json('companyContactPhone', 'Contact phone; its content is not published. Read only.'),
    reference('companyLegalForm.id', 'Company type: company_legal_forms.id. Read only.'),
    text('companyLegalReason', 'Legal reason. Read only.'),
    text('companyLogo', 'Logo file path. Read only.'),
    text('companySiretNumber', 'Company registration number. Read only.'),
    text('companyVatNumber', 'VAT identification number. Read only.'),
    text('companyWebsiteUrl', 'Website URL. Read only.'),
  ],
  reads: {
    kind: 'list',
    list: 'GET /v3/companies',
    single: { endpoint: 'GET /v3/companies/{companyId}', param: 'companyId', repeats: 'GET /v3/companies' },
    paged: true,
  },
  freshness: 'detail',
  every: '15m',
  embeds: [
    { path: 'addressCity', stream: 'cities' },
    { path: 'companyLegalForm', stream: 'company_legal_forms' },
  ],
}
