"""Validates a JUnit report against an XSD and looks for what the run must have put into it.

    junit.py SCHEMA REPORT DIALECT
"""

import sys
import xml.etree.ElementTree as tree

import xmlschema

schema, report, dialect = sys.argv[1:]
xmlschema.XMLSchema(schema).validate(report)
root = tree.parse(report).getroot()
assert root.tag == {"jenkins": "testsuites", "surefire": "testsuite"}[dialect], root.tag
cases = {case.get("name").removeprefix("Outcomes > "): case for case in root.iter("testcase")}
assert len(cases) == 7, sorted(cases)
assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("7", "2", "2"), root.attrib
for name in ("dies", "hangs"):
    assert float(cases[name].get("time")) > 0, (name, cases[name].attrib)
assert float(cases["hangs"].get("time")) >= 2
for case in cases.values():
    assert set(case.attrib) <= {"name", "classname", "time"}, case.attrib
    assert case.get("time") is not None or dialect == "jenkins", case.attrib
# An attempt that failed before one that passed, and the failed retry of one that kept failing.
assert cases["passes the second time"].find("flakyFailure") is not None
assert cases["raises"].find("rerunFailure") is not None
