# frozen_string_literal: true

# What names say: values that a reader would expect under them, and whether they ask or order. Pure tables.
module ProctorNames
  # By the last word of a name, the whole name first.
  VALUES = {
    "email" => ['"user@example.com"', '""'], "mail" => ['"user@example.com"'], "url" => ['"https://example.com"', '"https://example.com/path?a=1"'],
    "uri" => ['"https://example.com"', '"https://example.com/path?a=1"'], "host" => ['"example.com"'], "domain" => ['"example.com"'],
    "currency" => ['"EUR"', '"USD"'], "country" => ['"DE"'], "locale" => ['"en"'], "language" => ['"en"'], "phone" => ['"+49 30 1234567"'],
    "price" => %w[100 0 -1], "amount" => %w[100 0 -1], "cents" => %w[1000 0 -1], "total" => %w[100 0], "cost" => %w[100 0], "fee" => %w[5 0],
    "quantity" => %w[2 1 0], "qty" => %w[2 1 0], "age" => %w[30 0], "percent" => %w[10 0 100], "rate" => %w[10 0.5 0],
    "id" => %w[1 2], "identifier" => %w[1 2], "uuid" => ['"00000000-0000-4000-8000-000000000000"'], "reference" => ['"reference-1"'],
    "token" => ['"token"', '""'], "password" => ['"secret"', '""'], "secret" => ['"secret"'], "user" => [], "city" => ['"Berlin"', '""'], "street" => ['"Main Street 1"'],
    "zip" => ['"10115"'], "ip" => ['"192.0.2.1"'], "celsius" => %w[20 -5 0], "username" => ['"alice"', '""'], "title" => ['"Title"', '""'],
    "REQUEST_METHOD" => ['"GET"', '"POST"', '"PUT"', '"DELETE"'], "PATH_INFO" => ['"/"', '"/a"', '"/a/1"'], "QUERY_STRING" => ['"a=1"', '""'],
    "rackinput" => ['StringIO.new("{}")', "StringIO.new"], "HTTP_HOST" => ['"example.com"'],
    "subject" => ['"Subject"', '""'], "body" => ['"Text"', '""'], "description" => ['"Description"', '""']
  }.freeze
  # Types by words: long ones may end a longer word, short ones stand alone.
  TYPES = [
    [%w[opts options attrs attributes params config hash headers data kwargs context locals env settings map mapping], %w[Hash]],
    [%w[string text name path title key word line message label content input source prefix suffix desc value code template html format pattern char str msg], %w[String]],
    [%w[number count size length index width height limit maximum minimum level depth offset position year month hour port line_no precision step times radius
        num idx n i x y max min pos a b], %w[Integer Float]],
    [%w[list array items args argv values elements entries lines words names keys rows columns parts segments nodes tokens others paths files arr], %w[Array]],
    [%w[block proc callback func handler callable lambda fn], %w[Proc]],
    [%w[date on day birthday], %w[Date Time]],
    [%w[time timestamp now at], %w[Time Date]],
    [%w[output stream file stdout stderr buffer io out], %w[StringIO String]],
    [%w[type symbol method_name attr attribute status state mode kind event sym], %w[Symbol String]],
    [%w[class klass mod], %w[Class]],
    [%w[error exception err ex], %w[StandardError]],
    [%w[regex regexp re], %w[Regexp]],
    [%w[enabled flag bool], %w[TrueClass FalseClass]],
    [%w[range], %w[Range]]
  ].freeze
  # Words that begin an order rather than a question.
  ORDERS = %w[add append cancel charge clear close commit complete confirm create decrement delete deliver destroy disable dispatch emit enable
              enqueue execute expire extend finish increment info invalidate log mark notify open perform persist post process publish push put record
              refund register reject release remove reset restart rollback run save schedule send start stop store submit touch trigger
              unlock update upload warn write].freeze

  # Endings of names of things: `charge_id` orders nothing.
  NOUN = /_(?:id|ids|at|on|by|name|count|status|state|type|key|token|url|path|date|time|amount|total|code|number|email|reason|limit|rate|s)\z/.freeze

  module_function

  def values(name)
    words = name.to_s.delete("?!=").split("_")
    VALUES[name.to_s] || VALUES[words.last] || []
  end

  def types(name)
    word = name.to_s.delete("?!=")
    last = word.split("_").last.to_s
    found = TYPES.find { |words, _| words.include?(word) || words.include?(last) }
    found ||= TYPES.find { |words, _| words.any? { |long| long.length > 3 && last.end_with?(long) } }
    found ? found[1] : []
  end

  # Whether a message asks for something to be done.
  def order?(name) = name.end_with?("!") || (ORDERS.include?(name.to_s[/\A[a-z]+/]) && !name.match?(NOUN))

  # Whether a message reports what has happened: `refunded`, `payment_failed`.
  def report?(name) = name.to_s.match?(/(?:\A|_)[a-z]{2,}ed\z/) && !%w[need feed seed embed].include?(name.to_s)
end
