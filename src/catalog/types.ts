// The shape of the catalog: what a stream, a column, a read and a write operation are. Pure data, no behaviour.

/** Settings that switch streams off: a switch, or a number whose zero does. */
export type StreamSetting = 'mirrorDocuments' | 'slotDays' | 'slotDurations' | 'calendarYears' | 'priceDays'

/** What the outbox keeps in order: the changes of one rental, of one user. */
type Aggregate = 'rental' | 'user'

export type ColumnType = 'text' | 'bigint' | 'numeric' | 'boolean' | 'date' | 'timestamptz' | 'timestamp' | 'jsonb'

export type Column = {
  /** Column name, snake_case. */
  readonly name: string
  readonly type: ColumnType
  /**
   * Path of the value in the record, dotted; null: it comes from the request or from another read, not from the
   * record.
   */
  readonly path: string | null
  /**
   * Of a record whose shape is not published, its beginning or end: the first of these members that holds a date-time, or a
   * date, which stands for the whole day. `path` is null.
   */
  readonly moment?: { readonly of: 'start' | 'end'; readonly names: readonly string[] }
  /** Meaning and allowed values: becomes the column comment. */
  readonly comment: string
  /** Data of a person: hidden from `boat_mirror_reader`, dropped when the person is deleted. */
  readonly personal?: true
  /** A value that does not fit becomes null (it stays in the payload) instead of sending the record to quarantine. */
  readonly lenient?: true
  /** An index is made on references. */
  readonly reference?: true
  /** A currency, as a text or as an object: views show its code. */
  readonly currency?: true
}

/** A read endpoint, `GET` and the path template, e.g. `GET /v3/rentals/{rentalId}`. */
export type ReadEndpoint = `GET /v3/${string}`

/** The single read of one record. */
export type SingleRead = {
  readonly endpoint: ReadEndpoint
  /** The path parameter that takes the record's own id. */
  readonly param: string
  /** Asked with the value at this path when the own id is answered 404: which id a path takes is not always documented. */
  readonly fallbackPath?: string
  readonly repeats: RepeatedRead
}

/**
 * The read that brings the same record; behind a `#` its place inside what that read brings. A read that repeats another
 * is skipped except for samples, until a sample differs.
 */
type RepeatedRead = ReadEndpoint

/** Parts of a list that a hot run reads: what is new, and what happens soon. */
export type ListWindows = {
  /** Newest records first by this column: read until a page of which everything is known. */
  readonly newest: { readonly column: string; readonly query: Readonly<Record<string, string>> }
  /** Records whose day in this column lies in the hot window; `from` and `to` are the query parameters of the days. */
  readonly soon: { readonly column: string; readonly from: string; readonly to: string }
}

/** A query parameter of a list that chooses the records with this value in a column. */
type ListFilter = {
  readonly param: string
  readonly column: string
  /** Values that say without doubt which records are meant; absent: any. */
  readonly values?: readonly string[]
  /** The value without the parameter. */
  readonly otherwise?: string
}

/** How a stream is read. */
export type StreamReads =
  | {
      /** A top-level list with a single read for each record. */
      readonly kind: 'list'
      readonly list: ReadEndpoint
      readonly single: SingleRead
      readonly paged: boolean
      /** Query parameters that make the order stable. */
      readonly query?: Readonly<Record<string, string>>
      /** Further passes through the list, merged by key (users: the deactivated ones). */
      readonly extraPasses?: readonly Readonly<Record<string, string>>[]
      /** Parts of the list that are read more often than all of it. */
      readonly windows?: ListWindows
      /** Query parameters that choose records by a column: those whose meaning is beyond doubt. */
      readonly filters?: readonly ListFilter[]
      /** Reads below the record that answer what it embeds at `path`, a record of another stream. */
      readonly related?: readonly {
        readonly endpoint: ReadEndpoint
        readonly stream: string
        readonly path: string
        readonly repeats: RepeatedRead
      }[]
    }
  | {
      /** Part of the parent's record: rows come with it, no request. */
      readonly kind: 'inside'
      readonly path: string
    }
  | {
      /** A collection below one parent record, each element with or without a single read. */
      readonly kind: 'collection'
      readonly list: ReadEndpoint
      readonly single?: SingleRead
      /** The query parameter that takes today's date: the answer depends on the day. */
      readonly dayParam?: string
    }
  | {
      /** At most one record below one parent record. */
      readonly kind: 'document'
      readonly endpoint: ReadEndpoint
      readonly optional: boolean
    }
  | { readonly kind: 'pricetable'; readonly endpoint: ReadEndpoint }
  | { readonly kind: 'calendar'; readonly endpoint: ReadEndpoint }
  | { readonly kind: 'availability'; readonly batch: ReadEndpoint; readonly single: ReadEndpoint }
  | { readonly kind: 'slots'; readonly list: ReadEndpoint }

/** One record type kept in the mirror. */
export type StreamDef = {
  /** Table name, and the stream's name everywhere. */
  readonly name: string
  /** Becomes the table comment. */
  readonly comment: string
  /** Where the record is described, such as `docs/sources.md, 2.5`; public pages among it end the table comment. */
  readonly source: string
  /** Key columns, in order. */
  readonly key: readonly string[]
  /** The stream whose rows this one hangs below; its key columns lead this stream's key. */
  readonly parent?: string
  /** Path parameters of the endpoints that take the parent's key, in key order. */
  readonly parentParams?: readonly string[]
  /** Key columns of the parent as they are called here, in key order. */
  readonly parentKey?: readonly string[]
  readonly columns: readonly Column[]
  readonly reads: StreamReads
  /**
   * `detail`: belongs only to the record, read when the parent is new or changed, or older than DETAIL_MAX_AGE.
   * `always`: others change it without a trace in the record, read at every sync.
   */
  readonly freshness: 'detail' | 'always'
  /** `always` holds for a one-off sync; on the schedule it is read as a detail. */
  readonly scheduledAs?: 'detail'
  /**
   * Rows of another stream whose changes make it due at once, by the column that names the parent. `otherwise` is the interval
   * where too much changes without them.
   */
  readonly dueBy?: { readonly stream: string; readonly column: string; readonly otherwise: string }
  /** `content`: the `key` column is the record's own id, else a hash of its content with a counter. */
  readonly keyed?: 'content'
  /** Query parameters that change what its reads answer where they are true: that is never read. */
  readonly switches?: readonly string[]
  /** Rows of past days stay until HISTORY_DAYS; only the asked range is replaced. */
  readonly horizon?: 'date' | 'year'
  /**
   * A record whose days have passed is no longer listed, which is not a loss. Its shape is not published: the dates
   * in it show when they passed.
   */
  readonly passes?: true
  /** Read only where each of these settings is on or above zero. */
  readonly onlyWith?: readonly StreamSetting[]
  /** The requests depend on the rows of these streams, which are read first. */
  readonly needs?: readonly string[]
  /** Columns of the record's begin and end: its details are read more often shortly before the one and after the other. */
  readonly eventful?: { readonly begin: string; readonly end: string }
  /**
   * Path of the record's modification time: if it moved between two reads, they are not answers about the same
   * record.
   */
  readonly modified?: string
  /** Default interval of the schedule in the worker, as in the configuration: 15m, 24h. */
  readonly every: string
  /** The same for its hot runs, which read what is most likely to have changed. */
  readonly hotEvery?: string
  /**
   * Paths of documented fields without a column: other names of an embedded record, collections with a separate
   * table.
   */
  readonly alsoKnown?: readonly string[]
  /**
   * Records of other streams inside a record of this one, by dotted path: stored as stubs until they are read
   * themselves.
   */
  readonly embeds?: readonly { readonly path: string; readonly stream: string }[]
  /** Columns that another stream's read fills (rentals: resource_id and company_id from the rental's resource). */
  readonly filledBy?: {
    readonly stream: string
    /** `from`: the column with the same value in the stream of `filter`; that of the first is its key. */
    readonly columns: readonly { readonly column: string; readonly path: string; readonly from?: string }[]
    /** The list may be asked, by this parameter, for those that belong to one record of another stream. */
    readonly filter?: { readonly stream: string; readonly param: string }
  }
  /** Column with the company that a row, and all below it, leads to: restricted roles see it by that. */
  readonly companyColumn?: string
  /** The aggregate that this record's changes belong to, and those of everything below it. */
  readonly aggregate?: Aggregate
  /** The record describes a person: erased when it is deleted. */
  readonly person?: true
  /** A document of the person above: never shown to `boat_mirror_reader`. */
  readonly document?: true
  /** People who travel with a rental: each is erased by rental and id. */
  readonly crew?: true
  readonly writes?: readonly StreamWrite[]
}

type FieldType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'email' | 'uri' | 'object'

/** One field of a write body. */
export type BodyField = {
  readonly name: string
  readonly type: FieldType
  /** Must be given on enqueue. */
  readonly required?: true
  /** Allowed values. */
  readonly values?: readonly string[]
  /** Members of an object. */
  readonly members?: readonly BodyField[]
  /** May be the result of an earlier change (`{"change": 17}`) of one of these operations. */
  readonly result?: readonly string[]
  /** False: null would mean nothing, so it is refused. */
  readonly clearable?: false
  /** Path of the same value in the record as read; default: the field's own name; null: the record does not show it. */
  readonly readPath?: string | null
  /** What an update without the field does to it; missing: unknown, so it is omitted only where it must be. */
  readonly whenLeftOut?: 'kept' | 'reset'
  /** Sent as this type although it is read as another (docs/sources.md, differences). */
  readonly sendAs?: 'string' | 'number'
  readonly comment: string
}

/**
 * Identifies the record that an operation made among others, where the answer was lost. Fields of the body, by name.
 */
export type Identity = {
  /** Fields that must show what was sent; absent: all that the record shows. */
  readonly shown?: readonly string[]
  /** Fields that the API may fill where nothing was sent. */
  readonly filled?: readonly string[]
  /** Groups of fields that no API rewrites all together: a record that differs in every one of a group is another one. */
  readonly kept: readonly (readonly string[])[]
}

type WriteKind = 'create' | 'update' | 'delete' | 'add' | 'remove' | 'assign'

/** A write as it stands with the stream that holds what is written. */
type StreamWrite = {
  /** The operation's name in the outbox, e.g. `rental.create`. */
  readonly operation: string
  readonly endpoint: `${'POST' | 'PUT' | 'DELETE'} /v3/${string}`
  readonly kind: WriteKind
  readonly body: readonly BodyField[]
  /** Of operations that make one record among several. */
  readonly identity?: Identity
  /** Where the operation is described, such as `docs/sources.md, 4.4`. */
  readonly source: string
}

/** A write with what follows from its place and its path. */
export type WriteDef = StreamWrite & {
  readonly stream: string
  readonly aggregate: Aggregate
  /** Path parameters and their types. */
  readonly target: Readonly<Record<string, 'integer' | 'string'>>
}
